"""Analytic ε of what the methods will do at the door, against FACTS §2 (Zheng & Li, Table I), δ = 1e-5, L = 50."""

import pytest

from audit.accounting.class_sizes import CLASS_SIZES
from audit.accounting.epsilon import epsilon_rdp
from audit.accounting.ledger import calibrate_method, claim_from_ledger, ledger_event
from audit.accounting.renyi import OPACUS_ORDERS
from condensers.registry import get_method

PRINTED = {
    "ldpdc": {"mnist": 1.10, "fashion-mnist": 1.06, "cifar10": 1.14, "celeba": 0.61},
    "ndpdc": {"mnist": 6.12, "fashion-mnist": 5.45, "cifar10": 6.72, "celeba": 0.71},
}


@pytest.mark.parametrize(
    ("method", "dataset", "printed"),
    [(method, dataset, value) for method, row in PRINTED.items() for dataset, value in row.items()],
)
def test_epsilon_of_the_plan_against_paper(method, dataset, printed):
    found = get_method(method)
    entries = found.plan(found.config(), tuple(map(float, CLASS_SIZES[dataset])))
    epsilon = epsilon_rdp(ledger_event(entries), 1e-5, orders=OPACUS_ORDERS)
    assert epsilon == pytest.approx(printed, abs=0.0101)


@pytest.mark.parametrize(("method", "noise"), [("ldpdc", 1.04), ("ndpdc", 3.82)])
def test_calibrated_noise_never_overshoots_and_is_below_that_of_rdp(method, noise):
    """FACTS §2 calibrates by RDP, which asks for more noise than PLD does."""
    found, sizes = get_method(method), tuple(map(float, CLASS_SIZES["mnist"]))
    config = calibrate_method(found, found.config(), sizes, epsilon=1.0, delta=1e-5)
    claim = claim_from_ledger(found.plan(config, sizes), 1e-5)
    assert 0.999 < claim.epsilon_pld <= 1.0
    assert 0.8 * noise < config.noise_multiplier < noise


@pytest.mark.parametrize(
    ("ipc", "rounds", "noise", "printed"),
    [(1, 1000, 0.604, 10.0), (10, 1000, 0.966, 10.0), (20, 1000, 1.214, 10.0), (50, 1000, 1.741, 10.0),
     (1, 200, 1.124, 1.0), (10, 200, 2.553, 1.0), (20, 200, 3.533, 1.0), (50, 200, 5.510, 1.0)],
)  # fmt: skip
def test_epsilon_of_psg_plan_against_facts(ipc, rounds, noise, printed):
    """FACTS §2: N = 60 000, B = 256, (R, T) of C.3; σ is printed with three decimals, ε moves with them."""
    found = get_method("psg")
    config = found.config(ipc=ipc, iterations=rounds, noise_multiplier=noise)
    entries = found.plan(config, tuple(map(float, CLASS_SIZES["mnist"])))
    assert epsilon_rdp(ledger_event(entries), 1e-5, orders=OPACUS_ORDERS) == pytest.approx(printed, rel=3e-3)


def test_psg_defaults_are_those_of_ten_images_at_epsilon_ten_against_paper():
    found = get_method("psg")
    entries = found.plan(found.config(), (6000.0,) * 10)
    assert entries[0][1] == 1000 * 10 * 10
    assert epsilon_rdp(ledger_event(entries), 1e-5) == pytest.approx(10.0, rel=3e-3)


def test_dyn_psg_carries_the_claim_of_its_paper_against_proposition_1():
    """Mironov's conversion, its Theorem 3; C, γ and the records do not enter."""
    found = get_method("dyn-psg")
    event = ledger_event(found.plan(found.config(), (5000.0,) * 10))
    assert epsilon_rdp(event, 1e-5, conversion="mironov") == pytest.approx(10.0, rel=3e-3)
