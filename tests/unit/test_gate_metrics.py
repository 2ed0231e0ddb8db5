"""When a recorded figure has got worse."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from audit.gate.metrics import METRICS, Measured, got_worse
from condensers.errors import BadConfig
from condensers.randomness import stream

SIGNIFICANCE = 0.01


def test_false_alarm_rate_of_got_worse_against_theory() -> None:
    generator = stream(0, "gate test")
    trials, runs = 4000, 8
    draws = generator.normal(size=(2, trials, runs))
    values, errors = draws.mean(2), draws.std(2, ddof=1) / np.sqrt(runs)
    alarms = sum(
        got_worse(
            "auc",
            Measured(value=values[0, t], standard_error=errors[0, t], num_trials=runs),
            Measured(value=values[1, t], standard_error=errors[1, t], num_trials=runs),
            SIGNIFICANCE,
        )
        for t in range(trials)
    )
    # Welch's test with the fewer degrees of freedom never exceeds its level; 3 deviations of Monte-Carlo error.
    assert alarms / trials <= SIGNIFICANCE + 3 * np.sqrt(SIGNIFICANCE / trials)
    assert alarms > 0


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_direction_of_every_metric_against_its_meaning(metric: str) -> None:
    old = Measured(value=0.5, standard_error=0.01, num_trials=16)
    more = Measured(value=0.9, standard_error=0.01, num_trials=16)
    less = Measured(value=0.1, standard_error=0.01, num_trials=16)
    harmful = metric not in ("accuracy", "tightness")
    assert got_worse(metric, more, old, SIGNIFICANCE) is harmful
    assert got_worse(metric, less, old, SIGNIFICANCE) is not harmful


def test_epsilon_needs_a_bound_that_is_certain() -> None:
    old = Measured(value=0.5, standard_error=0.01, num_trials=16)
    new = Measured(value=0.9, standard_error=0.01, num_trials=16, certain=0.4)
    assert not got_worse("epsilon", new, old, SIGNIFICANCE)
    assert got_worse("epsilon", Measured(**{**vars(new), "certain": 0.7}), old, SIGNIFICANCE)


@pytest.mark.parametrize("metric", ["auc", "tpr at fpr 0.01", "epsilon"])
def test_one_run_is_refused_since_no_error_can_be_recorded(metric: str) -> None:
    report = SimpleNamespace(
        game=SimpleNamespace(num_test_runs=1, seed=0),
        roc=SimpleNamespace(
            auc=0.5,
            auc_interval=(0.4, 0.6),
            tpr_at_fpr={"0.01": 0.0},
            tpr_at_fpr_interval={"0.01": (0.0, 0.1)},
            interval_confidence=0.95,
            interval_unit="runs",
            over_records=(),
        ),
        epsilon=None,
    )
    with pytest.raises(BadConfig, match="cannot be measured over one test run"):
        METRICS[metric].measure(report, (np.ones((1, 10), dtype=bool), np.zeros((1, 10))), SIGNIFICANCE)


def test_error_of_a_rate_whose_interval_ends_at_nought_against_the_other_side() -> None:
    """An interval 1% ± 3% is shown as [0%, 4%]; half of its width would be an error of 2% over the quantile."""
    roc = SimpleNamespace(
        tpr_at_fpr={"0.01": 0.01},
        tpr_at_fpr_interval={"0.01": (0.0, 0.04)},
        over_records=(),
        interval_confidence=0.95,
        interval_unit="public draws",
    )
    report = SimpleNamespace(roc=roc, game=SimpleNamespace(public_draws=8, num_test_runs=16))
    scores = np.ones((16, 400), dtype=bool), np.zeros((16, 400))
    found = METRICS["tpr at fpr 0.01"].measure(report, scores, SIGNIFICANCE)
    assert found.num_trials == 8
    assert found.standard_error == pytest.approx(0.03 / stats.t.ppf(0.975, 7))


def test_error_of_a_share_over_records_against_the_normal_quantile() -> None:
    """Where all runs agree, the interval is that of a share of records, and Student's quantile is not in it."""
    roc = SimpleNamespace(
        auc=1.0, auc_interval=(0.9, 1.0), over_records=("AUC",), interval_confidence=0.95, interval_unit="public draws"
    )
    report = SimpleNamespace(roc=roc, game=SimpleNamespace(public_draws=3, num_test_runs=6))
    found = METRICS["auc"].measure(report, (np.empty(0), np.empty(0)), SIGNIFICANCE)
    assert found.standard_error == pytest.approx(0.1 / stats.norm.ppf(0.975))
