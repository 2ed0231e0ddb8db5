"""Fit runs that enumerate the combinations of the audited records, and the attack that matches them."""

import numpy as np
import pytest
from small_specs import small_spec

from attacks.nearest_runs import match_runs, vote_of_nearest
from audit.games.membership.game import Game
from audit.games.membership.resolve import resolve_config
from audit.games.membership.threat import threat_model
from audit.specs.membership import Lira
from audit.statistics.roc import area, exact_curve
from condensers.errors import BadConfig
from condensers.randomness import stream


def auc(members: np.ndarray, scores: np.ndarray) -> float:
    return area(exact_curve(members, scores))


def game(**changes: object) -> Game:
    settings = {"seed": 5, "num_records": 7, "num_runs": 30, "num_test_runs": 6, "enumerated": (3, 0, 4)}
    return Game(**{**settings, **changes})  # type: ignore[arg-type]


def test_fit_runs_have_all_combinations_of_each_class_and_test_runs_their_coins() -> None:
    found = game().members(range(30))
    assert len(np.unique(found[:8, :3], axis=0)) == 8
    assert len(np.unique(found[:16, 3:], axis=0)) == 16
    assert np.array_equal(found[8:16, :3], found[:8, :3])
    assert np.array_equal(found[24:], game(enumerated=None).members(range(24, 30)))
    assert np.array_equal(game().members((3, 27)), found[[3, 27]])


def test_every_public_draw_has_all_combinations() -> None:
    found = game(num_public_draws=2, enumerated=(3, 2, 2)).members(range(24))
    for draw in range(2):
        assert len(np.unique(found[draw:16:2, :3], axis=0)) == 8


def tangled(members: np.ndarray) -> np.ndarray:
    """Sets that are a function of their members with no linear part: every combination has images of its own."""
    codes = members @ (1 << np.arange(members.shape[1]))
    return np.stack([stream(0, "images", int(code)).normal(size=40) for code in codes])


def test_a_match_reads_off_the_members() -> None:
    combinations = (np.arange(32)[:, None] >> np.arange(5)) & 1 == 1
    members = np.concatenate([combinations, stream(1, "coins").random((20, 5)) < 0.5])
    odds = match_runs(tangled(members), members[:32])
    assert np.array_equal(odds > 0, members)
    assert np.abs(odds).min() > 10


def test_a_vote_finds_members_where_near_sets_have_near_members_and_not_elsewhere() -> None:
    members = stream(2, "coins").random((160, 6)) < 0.5
    # Saturated: distances grow with the number of differing members, and hardly beyond two.
    centres = stream(2, "centres").normal(size=(2, 6, 60))
    near = np.tanh(members @ centres[0] * 3) + np.tanh((~members) @ centres[1] * 3)
    odds = vote_of_nearest(near, members[:128])
    assert auc(members[128:].ravel(), odds[128:].ravel()) > 0.75
    blind = vote_of_nearest(stream(3, "noise").normal(size=(160, 60)), members[:128])
    assert abs(auc(members[:128].ravel(), blind[:128].ravel()) - 0.5) < 0.06
    assert abs(auc(members[128:].ravel(), blind[128:].ravel()) - 0.5) < 0.1


def test_equal_sets_give_finite_odds() -> None:
    members = stream(4, "coins").random((20, 3)) < 0.5
    assert np.isfinite(vote_of_nearest(np.zeros((20, 8)), members[:16])).all()
    assert np.isfinite(match_runs(np.zeros((20, 8)), members[:16])).all()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"audited": None}, "give --audited"),
        ({"audited": "60"}, r"6 audited records of one class have 2\^6 combinations, but there are 48 fit runs"),
        ({"audited": "300"}, r"2\^30 combinations"),
        ({"audited": "20", "independent_randomness": True}, "needs randomness that the adversary knows"),
    ],
)
def test_designs_that_cannot_be_enumerated_are_refused(changes: dict[str, object], said: str) -> None:
    spec = Lira(level="set", shadows=64, test_runs=16, fit_design="enumerated").but(**changes)
    with pytest.raises(BadConfig, match=said):
        resolve_config(spec, None)


def test_the_design_is_part_of_the_condensation_and_of_the_command() -> None:
    spec = small_spec(level="set", shadows=24, test_runs=8, audited="20")
    coins, _ = resolve_config(spec, None)
    enumerated, _ = resolve_config(spec.but(fit_design="enumerated"), None)
    assert enumerated.enumerated == [2] * 10
    assert coins.condensation_digest != enumerated.condensation_digest
    assert "--fit-design enumerated" in spec.but(fit_design="enumerated").command()
    assert any("all combinations of the 2 audited ones of a class" in line for line in threat_model(enumerated))
