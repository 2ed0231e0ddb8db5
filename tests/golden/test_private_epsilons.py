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
