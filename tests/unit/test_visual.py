import dataclasses
import math

import numpy as np
import pytest

from attacks.nearest import Matches
from audit.games.visual.match import adjust_p_values, binomial_p_value, find_members, make_panel
from audit.statistics.estimators.one_run import bound_epsilon_one_run
from condensers.randomness import stream

RUNS, RECORDS, IMAGES = 6, 40, 5


def planted(members: np.ndarray, *, hits: int) -> Matches:
    """In each run the first `hits` guesses are members, the others are not."""
    guesses = np.array([[*np.flatnonzero(row)[:hits], *np.flatnonzero(~row)[: IMAGES - hits]] for row in members])
    records = np.repeat(guesses[..., None], 3, axis=2)
    nearness = members + 0.01 * stream(3, "nearness").random(members.shape)
    return Matches(records=records, distances=np.ones(records.shape), guesses=guesses, nearness=nearness)


@pytest.fixture
def members() -> np.ndarray:
    return stream(3, "coins").random((RUNS, RECORDS)) < 0.5


def found(members: np.ndarray, hits: int, num_tries: int = 1):
    settings = {"delta": 1e-5, "confidence": 0.95, "num_tries": num_tries, "seed": 0}
    return find_members("l2", planted(members, hits=hits), members, **settings)


def test_members_among_guesses_are_counted_and_bounded_against_one_run(members: np.ndarray) -> None:
    finding = found(members, hits=4, num_tries=3)
    assert (finding.num_guesses, finding.num_members, finding.num_displaced) == (30, 24, 0)
    assert finding.p_value == pytest.approx(sum(math.comb(30, k) for k in range(24, 31)) / 2**30, rel=1e-12)
    expected = bound_epsilon_one_run(
        num_coins=RUNS * RECORDS, num_guesses=30, num_correct=24, delta=1e-5, confidence=0.95, num_tries=3
    )
    assert finding.bound == dataclasses.replace(expected, ceiling=finding.most_certifiable, evidence="distance l2")
    assert finding.bound.lower < finding.most_certifiable < expected.ceiling
    assert found(members, hits=5).bound.lower == found(members, hits=5).most_certifiable
    assert finding.roc.auc == 1.0


def test_records_of_classes_without_images_do_not_enter_the_curve(members: np.ndarray) -> None:
    matches = planted(members, hits=4)
    hidden = np.where(np.arange(RECORDS) < 10, -np.inf, matches.nearness)
    settings = {"delta": 0.0, "confidence": 0.95, "num_tries": 1, "seed": 0}
    finding = find_members("l2", dataclasses.replace(matches, nearness=hidden), members, **settings)
    assert finding.roc.auc == 1.0


@pytest.mark.parametrize(
    ("hits", "guesses", "expected"), [(160, 160, 2.0**-160), (0, 10, 1.0), (1, 1, 0.5), (0, 0, 1.0)]
)
def test_p_value_against_theory(hits: int, guesses: int, expected: float) -> None:
    assert binomial_p_value(hits, guesses) == pytest.approx(expected, rel=1e-9)


def test_adjusted_p_values_against_holm_by_hand(members: np.ndarray) -> None:
    base = found(members, hits=4)
    findings = tuple(dataclasses.replace(base, p_value=value) for value in (0.04, 0.01, 0.03))
    adjusted = [finding.p_value_adjusted for finding in adjust_p_values(findings)]
    assert adjusted == pytest.approx([0.06, 0.03, 0.06])


def test_panel_takes_an_image_of_every_class_first(members: np.ndarray) -> None:
    labels = np.array([0, 0, 0, 1, 2])
    panel = make_panel(members[0], labels, {"l2": planted(members, hits=4)})
    assert [column.label for column in panel] == [0, 0, 0, 1, 2]
    many = np.repeat(np.arange(12), 5)
    wide = Matches(
        records=np.zeros((1, 60, 3), dtype=np.int64),
        distances=np.zeros((1, 60, 3)),
        guesses=np.zeros((1, 60), dtype=np.int64),
        nearness=np.zeros((1, RECORDS)),
    )
    panel = make_panel(members[0], many, {"l2": wide})
    assert [column.label for column in panel] == list(range(10))
    assert [column.image for column in panel] == list(range(0, 50, 5))
    assert panel[0].matches["l2"][0].member == members[0, 0]
