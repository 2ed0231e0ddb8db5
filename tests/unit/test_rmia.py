import numpy as np
import pytest
from scipy.special import expit

from attacks.registry import Observations
from attacks.rmia import RmiaConfig, score_rmia
from condensers.errors import BadConfig
from condensers.randomness import stream


def observe(fit: int = 20, test: int = 4, records: int = 12, effect: float = 1.0) -> tuple[Observations, np.ndarray]:
    generator = stream(8, "rmia", fit)
    members = generator.random((fit + test, records)) < 0.5
    signals = generator.standard_normal((fit + test, records, 2)) + effect * members[:, :, None]
    signals = signals.astype(np.float32)
    return Observations(fit_signals=signals[:fit], fit_members=members[:fit], test_signals=signals[fit:]), members[fit:]


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("gamma", [1.0, 1.3])
def test_rmia_against_naive_pairs(online: bool, gamma: float) -> None:
    """Every pair (x, z) by the definition of arXiv:2312.03262; the tie-breaking term is less than half a pair."""
    seen, _ = observe()
    scores = score_rmia(seen, RmiaConfig(online=online, gamma=gamma, offline_scale=0.3))
    records = seen.fit_members.shape[1]
    fit, test = expit(seen.fit_signals.astype(float)).mean(2), expit(seen.test_signals.astype(float)).mean(2)
    usual = np.empty(records)
    for record in range(records):
        inside = seen.fit_members[:, record]
        outside = fit[~inside, record].mean()
        usual[record] = (fit[inside, record].mean() + outside) / 2 if online else (1.3 * outside + 0.7) / 2
    for run in range(len(test)):
        for x in range(records):
            ratios = [(test[run, x] / usual[x]) / (test[run, z] / usual[z]) for z in range(records)]
            share = np.mean([ratio >= gamma - 1e-12 for ratio in ratios])
            assert abs(scores[run, x] - share) < 0.5 / records


def test_rmia_works_with_three_fit_runs() -> None:
    seen, members = observe(fit=3, test=200, records=40, effect=2.0)
    scores = score_rmia(seen, RmiaConfig())
    assert np.isfinite(scores).all()
    assert scores[members].mean() > scores[~members].mean() + 0.2


@pytest.mark.parametrize(("change", "line"), [({"gamma": 0.0}, "gamma"), ({"offline_scale": 2.0}, "offline_scale")])
def test_rmia_refuses_settings_that_mean_nothing(change: dict[str, float], line: str) -> None:
    with pytest.raises(BadConfig, match=line):
        RmiaConfig(**change)
