"""Claims about membership of Dong, Zhao, Lyu, "Privacy for Free: How does Dataset Condensation Help Privacy?", ICML
2022, arXiv:2206.00240.

Where the public randomness is shared by the runs, a test takes several draws of it, and its intervals are over draws.
The attack on sets was designed while looking at seed 0 of digits: test it with another seed.
"""

from audit.claims.judges import (
    advantage_is_zero,
    auc_below,
    estimate_is_about,
    initial_records_leak,
    no_members_found,
)
from audit.claims.ranges import PublishedRange
from audit.claims.record import Claim, Test
from reports.records.scope import UNKNOWN

DONG = "Dong, Zhao, Lyu (ICML 2022), arXiv:2206.00240"
PAPER_TERMS = "the paper's: the adversary sees the trained network and does not know the randomness of the condensation"
KNOWN_RANDOMNESS = "stronger: the adversary sees the trained network and knows the public randomness"
HOLDS_SET = (
    "the paper's words, not its experiments: the adversary holds the synthetic set and does not know the randomness"
)
SEES_SET = "stronger: the adversary holds the synthetic set and knows the public randomness"
WITH_CANARIES = "stronger: the adversary holds the synthetic set and chose some of the records"

# Section 5.1: half of FashionMNIST, CIFAR-10 or 10 000 images of CelebA with two classes, r of .002, .01 or .02, and a
# three-layer ConvNet. The paper prints no number of steps: 20 000 is the default of the code that it cites.
PUBLISHED = PublishedRange(
    datasets=("fashion-mnist", "cifar10", "celeba"),
    members_per_class=(2500, 3000),
    ratio=(0.002, 0.02),
    steps=(20_000, 20_000),
    network="convnet of depth 3 and width 128",
    randomness=UNKNOWN,
)
OF_KIP = PublishedRange(
    datasets=PUBLISHED.datasets,
    members_per_class=PUBLISHED.members_per_class,
    ratio=(0.002, 0.01),
    network="conv neural tangent kernel with 3 blocks",
    randomness=UNKNOWN,
)

CANARIES = "--canaries mislabelled:20,outlier:20,crafted:40"
DRAWS = {
    "quick": "--shadows 192 --test-runs 48 --public-draws 6",
    "full": "--shadows 2048 --test-runs 512 --public-draws 8",
}
# Without shared randomness nothing is computed once for all runs: fewer records, runs and steps.
SMALLER = "--records 600 --set iterations=100"
# All of FashionMNIST at the paper's smallest ratio: 3000 members and 6 images per class. Steps and network are reduced.
PAPER_SCALE = "--dataset fashion-mnist --ipc 6 --set iterations=100"


def draws(command: str) -> dict[str, tuple[str, ...]]:
    """At either scale, with several draws of the public randomness."""
    return {scale: (f"{command} {flags}",) for scale, flags in DRAWS.items()}


def _independent(method: str, flags: str, quick: str, full: str = "--shadows 256") -> dict[str, tuple[str, ...]]:
    command = f"lira --method {method} --independent-randomness"
    return {"quick": (f"{command} {flags} {quick}",), "full": (f"{command} {flags} {full}",)}


def _no_leak(name: str, threat_model: str, commands: dict[str, tuple[str, ...]]) -> Test:
    return Test(name=name, threat_model=threat_model, commands=commands, judge=auc_below(0.51))


CLAIMS = (
    Claim(
        name="privacy-for-free",
        who=DONG,
        where="section 5.2 and Figure 2",
        statement="DM with random initialisation leaks no membership: the AUC of LiRA is below .51.",
        published=PUBLISHED,
        tests=(
            _no_leak(
                "model, independent randomness, all of FashionMNIST",
                PAPER_TERMS,
                _independent("dm", PAPER_SCALE, "--shadows 24 --test-runs 8"),
            ),
            _no_leak(
                "set, independent randomness, all of FashionMNIST",
                HOLDS_SET,
                _independent("dm", f"{PAPER_SCALE} --level set", "--shadows 24 --test-runs 8"),
            ),
            _no_leak(
                "set, all of FashionMNIST",
                SEES_SET,
                {
                    "quick": (
                        "lira --method dm --level set --dataset fashion-mnist --set iterations=100 --shadows 128 "
                        "--test-runs 32 --public-draws 4",
                    ),
                    "full": (f"lira --method dm --level set --dataset fashion-mnist {DRAWS['full']}",),
                },
            ),
            _no_leak(
                "model, independent randomness",
                PAPER_TERMS,
                _independent("dm", SMALLER, "--shadows 24 --test-runs 8"),
            ),
            _no_leak("model", KNOWN_RANDOMNESS, draws("lira --method dm")),
            _no_leak(
                "set, independent randomness",
                HOLDS_SET,
                _independent("dm", f"{SMALLER} --level set", "--shadows 64 --test-runs 24"),
            ),
            _no_leak("set", SEES_SET, draws("lira --method dm --level set")),
            _no_leak("set, canaries", WITH_CANARIES, draws(f"lira --method dm --level set {CANARIES}")),
        ),
    ),
    Claim(
        name="privacy-for-free-kip",
        who=DONG,
        where="section 5.2 and Figure 2",
        statement="KIP with random initialisation leaks no membership: the AUC of LiRA is below .51.",
        published=OF_KIP,
        tests=(
            _no_leak("model", KNOWN_RANDOMNESS, draws("lira --method kip")),
            _no_leak("set", SEES_SET, draws("lira --method kip --level set")),
        ),
    ),
    Claim(
        name="privacy-for-free-dsa",
        who=DONG,
        where="section 5.2 and Table 2; the paper leaves DSA out of LiRA because of its cost",
        statement="DSA with random initialisation leaks no membership. Tested here by LiRA as the paper does for DM.",
        published=PUBLISHED,
        tests=(
            _no_leak("model", KNOWN_RANDOMNESS, draws("lira --method dsa")),
            _no_leak("set", SEES_SET, draws("lira --method dsa --level set")),
        ),
    ),
    Claim(
        name="epsilon-2.3",
        who=DONG,
        where="section 5.3, Table 3",
        statement="The empirical epsilon of DM, estimated as ln(TPR/FPR) of LiRA against the trained network, is 2.30. "
        "It is an estimate and not a promise: section 4 says that it is not the epsilon of differential privacy.",
        published=PUBLISHED,
        tests=(
            Test(
                name="model",
                threat_model=KNOWN_RANDOMNESS,
                commands=draws("lira --method dm"),
                judge=estimate_is_about(2.30),
            ),
            Test(
                name="set, canaries",
                threat_model=WITH_CANARIES,
                commands=draws(f"lira --method dm --level set {CANARIES}"),
                judge=estimate_is_about(2.30),
            ),
        ),
    ),
    Claim(
        name="real-initialisation-leaks",
        who=DONG,
        where="section 5.2 and Table 1",
        statement="With real initialisation the loss attack finds the records that images started from.",
        published=PUBLISHED,
        tests=tuple(
            Test(
                name=f"model, learning rate {rate} ({why})",
                threat_model=KNOWN_RANDOMNESS,
                commands={
                    scale: (
                        f"loss --method dm --init real --ipc 10 --set learning_rate={rate} "
                        f"--runs {runs} --public-draws {runs // 2}",
                    )
                    for scale, runs in (("quick", 12), ("full", 40))
                },
                judge=initial_records_leak,
            )
            # Appendix E.1 has rates of 10, 50 and 100 for 6, 30 and 60 images per class: 5/3 of their number.
            for rate, why in (("0.1", "ours"), ("1", "of the code that the paper cites"), ("16.67", "the paper's"))
        ),
    ),
    Claim(
        name="loss-advantage-zero",
        who=DONG,
        where="section 5.2 and Table 2",
        statement="With random initialisation the advantage of the loss attack is about 0.",
        published=PUBLISHED,
        tests=(
            Test(
                name="model",
                threat_model=KNOWN_RANDOMNESS,
                commands={
                    "quick": ("loss --method dm --ipc 10 --runs 20 --public-draws 10",),
                    "full": ("loss --method dm --ipc 10 --runs 60 --public-draws 20",),
                },
                judge=advantage_is_zero,
            ),
        ),
    ),
    Claim(
        name="visually-irreversible",
        who=DONG,
        where="abstract, section 5.4 and Figure 5",
        statement="DM's synthetic images are perceptually irreversible: no members are recognised by L2 or LPIPS.",
        published=PUBLISHED,
        tests=(
            Test(
                name="set, random initialisation",
                threat_model="the paper's: the adversary compares the synthetic images with the records that it knows",
                commands={
                    "quick": ("visual --method dm --ipc 10 --runs 16",),
                    "full": ("visual --method dm --ipc 10 --runs 64",),
                },
                judge=no_members_found,
            ),
        ),
    ),
    Claim(
        name="gan-leak",
        who=DONG,
        where="appendix E.4",
        statement="The reconstruction attack finds members of a cGAN's training set (AUC 56.06 on CelebA).",
        needs="CelebA, a conditional GAN trained on it (hours on a GPU) and the attack over its latent space",
    ),
)
