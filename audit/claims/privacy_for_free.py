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
    members_found,
    no_members_found,
)
from audit.claims.ranges import PublishedRange
from audit.claims.record import Claim, Specs, Test, at_scales
from audit.specs.membership import GanLeak, Lira, Loss
from audit.specs.pictures import Visual
from reports.records.scope import UNKNOWN

DONG = "Dong, Zhao, Lyu (ICML 2022), arXiv:2206.00240"
PAPER_TERMS = "the paper's: the adversary sees the trained network and does not know the randomness of the condensation"
KNOWN_RANDOMNESS = "stronger: the adversary sees the trained network and knows the public randomness"
HOLDS_SET = (
    "the paper's words, not its experiments: the adversary holds the synthetic set and does not know the randomness"
)
SEES_SET = "stronger: the adversary holds the synthetic set and knows the public randomness"
KNOWS_OTHERS = (
    "stronger: the adversary holds the synthetic set, knows the public randomness and all records but the audited ones"
)
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
    everybody_in_doubt=True,
)
OF_KIP = PublishedRange(
    datasets=PUBLISHED.datasets,
    members_per_class=PUBLISHED.members_per_class,
    ratio=(0.002, 0.01),
    network="conv neural tangent kernel with 3 blocks",
    randomness=UNKNOWN,
    everybody_in_doubt=True,
)
OF_CGAN = PublishedRange(datasets=("celeba",), everybody_in_doubt=True)

CANARIES = "mislabelled:20,outlier:20,crafted:40"
DRAWS = {
    "quick": {"shadows": 192, "test_runs": 48, "public_draws": 6},
    "full": {"shadows": 2048, "test_runs": 512, "public_draws": 8},
}
FEWER_STEPS = {"iterations": "100"}
# Without shared randomness nothing is computed once for all runs: fewer records, runs and steps.
SMALLER = Lira(records=600, settings=FEWER_STEPS, independent_randomness=True)
# All of FashionMNIST at the paper's smallest ratio: 3000 members and 6 images per class. Steps and network are reduced.
# Among 60 000 records and 24 fit runs hardly one is in all of them or in none, which LiRA could not score.
PAPER_SCALE = Lira(dataset="fashion-mnist", ipc=6, settings={"iterations": "50"}, independent_randomness=True)
# Ten records of each class in doubt, the other 59 900 in every run. The number was chosen on seed 101.
FEW_IN_DOUBT = Lira(level="set", dataset="fashion-mnist", audited="100")
FEW_RUNS, SOME_RUNS = {"shadows": 32, "test_runs": 8}, {"shadows": 64, "test_runs": 24}


def draws(spec: Lira) -> Specs:
    """At either scale, with several draws of the public randomness."""
    return {scale: (spec.but(**runs),) for scale, runs in DRAWS.items()}


def _at_full_scale(spec: Lira, quick: dict[str, int]) -> Specs:
    """256 shadows, or as many as a quick test has."""
    return {"quick": (spec.but(**quick),), "full": (spec.but(shadows=256),)}


def _no_leak(name: str, threat_model: str, specs: Specs) -> Test:
    return Test(name=name, threat_model=threat_model, specs=specs, judge=auc_below(0.51))


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
                _at_full_scale(PAPER_SCALE, FEW_RUNS),
            ),
            _no_leak(
                "set, independent randomness, all of FashionMNIST",
                HOLDS_SET,
                _at_full_scale(PAPER_SCALE.but(level="set"), FEW_RUNS),
            ),
            _no_leak(
                "set, all of FashionMNIST",
                SEES_SET,
                {
                    "quick": (
                        Lira(
                            level="set",
                            dataset="fashion-mnist",
                            settings=FEWER_STEPS,
                            shadows=128,
                            test_runs=32,
                            public_draws=4,
                        ),
                    ),
                    "full": (Lira(level="set", dataset="fashion-mnist").but(**DRAWS["full"]),),
                },
            ),
            _no_leak(
                "set, 100 records of FashionMNIST in doubt",
                KNOWS_OTHERS,
                {
                    "quick": (FEW_IN_DOUBT.but(settings=FEWER_STEPS, shadows=256, test_runs=64, public_draws=4),),
                    "full": (FEW_IN_DOUBT.but(**DRAWS["full"]),),
                },
            ),
            _no_leak(
                "model, independent randomness",
                PAPER_TERMS,
                _at_full_scale(SMALLER, FEW_RUNS),
            ),
            _no_leak("model", KNOWN_RANDOMNESS, draws(Lira())),
            _no_leak(
                "set, independent randomness",
                HOLDS_SET,
                _at_full_scale(SMALLER.but(level="set"), SOME_RUNS),
            ),
            _no_leak("set", SEES_SET, draws(Lira(level="set"))),
            _no_leak("set, canaries", WITH_CANARIES, draws(Lira(level="set", canaries=CANARIES))),
        ),
    ),
    Claim(
        name="privacy-for-free-kip",
        who=DONG,
        where="section 5.2 and Figure 2",
        statement="KIP with random initialisation leaks no membership: the AUC of LiRA is below .51.",
        published=OF_KIP,
        tests=(
            _no_leak("model", KNOWN_RANDOMNESS, draws(Lira(method="kip"))),
            _no_leak("set", SEES_SET, draws(Lira(method="kip", level="set"))),
        ),
    ),
    Claim(
        name="privacy-for-free-dsa",
        who=DONG,
        where="section 5.2 and Table 2; the paper leaves DSA out of LiRA because of its cost",
        statement="DSA with random initialisation leaks no membership. Tested here by LiRA as the paper does for DM.",
        published=PUBLISHED,
        tests=(
            _no_leak("model", KNOWN_RANDOMNESS, draws(Lira(method="dsa"))),
            _no_leak("set", SEES_SET, draws(Lira(method="dsa", level="set"))),
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
                specs=draws(Lira()),
                judge=estimate_is_about(2.30),
            ),
            Test(
                name="set, canaries",
                threat_model=WITH_CANARIES,
                specs=draws(Lira(level="set", canaries=CANARIES)),
                judge=estimate_is_about(2.30),
            ),
            Test(
                name="set, 100 records of FashionMNIST in doubt",
                threat_model=KNOWS_OTHERS,
                specs={
                    "quick": (FEW_IN_DOUBT.but(settings={"iterations": "200"}, shadows=192, test_runs=64),),
                    "full": (
                        FEW_IN_DOUBT.but(preset="paper", settings={"iterations": "500"}, shadows=256, test_runs=64),
                    ),
                },
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
                specs={
                    scale: (
                        Loss(
                            init="real",
                            ipc=10,
                            settings={"learning_rate": rate},
                            shadows=runs,
                            public_draws=runs // 2,
                        ),
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
                specs=at_scales(
                    quick=Loss(ipc=10, shadows=20, public_draws=10), full=Loss(ipc=10, shadows=60, public_draws=20)
                ),
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
                specs=at_scales(quick=Visual(ipc=10, runs=16), full=Visual(ipc=10, runs=64)),
                judge=no_members_found,
            ),
        ),
    ),
    Claim(
        name="gan-leak",
        who=DONG,
        where="appendix E.4",
        statement="The reconstruction attack finds members of a cGAN's training set (AUC 56.06 on CelebA).",
        published=OF_CGAN,
        tests=(
            Test(
                name="generator",
                threat_model="the paper's: the adversary holds the generator and reconstructs records with it",
                specs=at_scales(
                    quick=GanLeak(records=200, shadows=24, settings={"iterations": "600", "attack.steps": "20"}),
                    full=GanLeak(records=600, shadows=64),
                ),
                judge=members_found,
            ),
        ),
    ),
)
