"""Claims about differentially private generators: DP-MERF, DP-HP, DP-KIP, DP-Sinkhorn, and GANs as released.

As in private_methods.py: accounting at the printed settings, and the real code at a small configuration whose noise is
calibrated, against an adversary who sees every release.
"""

from audit.claims.judges import guarantee_holds
from audit.claims.private_methods import AT_THE_DOOR, on_paper
from audit.claims.record import Claim, Test, at_scales
from audit.specs.worst_case import WorstCase

HARDER = "Harder, Adamczewski, Park, DP-MERF"
VINAROZ = "Vinaroz et al., DP-HP"
CAO = "Cao et al., DP-Sinkhorn, arXiv:2111.01177"


def _at_the_door(method: str, epsilon: float, settings: dict[str, str] | None = None, name: str = "transcript") -> Test:
    spec = WorstCase(method=method, epsilon=epsilon, settings=settings or {})
    return Test(
        name=f"{name}, epsilon {epsilon:g}",
        threat_model=AT_THE_DOOR,
        specs=at_scales(quick=spec.but(trials=4000), full=spec.but(trials=20_000)),
        judge=guarantee_holds,
    )


CLAIMS = (
    Claim(
        name="dp-merf-dp",
        who=f"{HARDER}; printed by Chen, Kerkouche, Fritz (PSG, supplementary C.4)",
        where="one release of the Gaussian mechanism, sigma 5",
        statement="DP-MERF with sigma 5 is (1, 1e-5)-DP.",
        tests=(
            on_paper("dp-merf", ("mnist", "fashion-mnist")),
            _at_the_door("dp-merf", 1),
            _at_the_door("dp-merf", 8),
        ),
    ),
    Claim(
        name="dp-hp-dp",
        who=VINAROZ,
        where="released code at e9aec76, prod_and_sum_kernel_image.py",
        statement="DP-HP, which spends .8 of epsilon on the sum kernel and .2 on the product kernel, is (1, 1e-5)-DP.",
        tests=(
            on_paper("dp-hp", ("mnist", "fashion-mnist")),
            _at_the_door("dp-hp", 1),
            _at_the_door("dp-hp", 8),
        ),
    ),
    Claim(
        name="dp-sinkhorn-dp",
        who=CAO,
        where="the algorithm, with as many generated images as a batch is expected to have",
        statement="DP-Sinkhorn is (epsilon, 1e-5)-DP.",
        tests=(
            on_paper("dp-sinkhorn", ("mnist",)),
            _at_the_door("dp-sinkhorn", 1),
            _at_the_door("dp-sinkhorn", 8),
        ),
    ),
    Claim(
        name="dp-sinkhorn-code",
        who=f"{CAO}, released code",
        where="sinkhorn_poisson.py at 2571a60: batch_size = len(label) of the Poisson batch",
        statement="The released code of DP-Sinkhorn is as private as its accounting.",
        tests=(_at_the_door("dp-sinkhorn", 1, {"size": "realised"}, name="transcript, sizes of samples told"),),
    ),
    Claim(
        name="dp-kip-code",
        who="Vinaroz, Park, DP-KIP, released code",
        where="dpkip_inf_ntk.py at da198c8, MNIST: class_balanced_sample of the training images as initial images",
        statement="The released code of DP-KIP is as private as its accounting.",
        tests=(_at_the_door("dp-kip", 1, {"start": "records"}, name="transcript, images start from records"),),
    ),
    Claim(
        name="gs-wgan-code",
        who="Chen, Orekondy, Fritz, GS-WGAN, released code",
        where="accusation gs-wgan-accounting",
        statement="Gradients that share one draw of a discriminator may be accounted as draws of their own.",
        tests=(
            _at_the_door("gs-wgan", 1, {"accounting": "apart"}, name="transcript, gradients apart"),
            _at_the_door("gs-wgan", 1, name="transcript, gradients together"),
        ),
    ),
    Claim(
        name="dp-cgan-code",
        who="Torkzadehmahani, Kairouz, Paten, DP-CGAN, released code",
        where="accusation dp-cgan-accounting",
        statement="A discriminator may be clipped tensor by tensor at the cost of one release.",
        tests=(
            _at_the_door("dp-cgan", 1, {"clipping": "tensor"}, name="transcript, tensors apart"),
            _at_the_door("dp-cgan", 1, name="transcript, records clipped over all tensors"),
        ),
    ),
)
