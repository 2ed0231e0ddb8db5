"""Events: what is refused, what is merged, what a record of a class meets, and the way to a ledger and back."""

import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest
from dp_accounting import dp_event
from dp_accounting.dp_event import DpEvent

from audit.accounting.epsilon import epsilon_pld, epsilon_rdp
from audit.accounting.events import (
    branches,
    composed,
    event_from_json,
    event_to_json,
    fixed_size_gaussian,
    gaussian,
    neighbouring_relation,
    num_releases,
    parallel,
    subsampled_gaussian,
    worst_sampling_rate,
)
from audit.accounting.ledger import ledger_event, relation_of_ledger
from condensers.errors import BadConfig, BadData, BadInput
from condensers.ledger import Event, FixedSize, Poisson

DELTA = 1e-5


def poisson(rate: float, noise: float = 1.0, steps: int = 100) -> DpEvent:
    return subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=steps)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: gaussian(0.0), "noise multiplier 0"),
        (lambda: gaussian(-1.0), "noise multiplier -1"),
        (lambda: gaussian(math.nan), "noise multiplier nan"),
        (lambda: gaussian(math.inf), "noise multiplier inf"),
        (lambda: gaussian(1e-9), "noise multiplier 1e-09"),
        (lambda: gaussian(1.0, 0), "steps 0"),
        (lambda: gaussian(1.0, 1.5), "steps 1.5"),
        (lambda: poisson(0.0), "sampling rate 0"),
        (lambda: poisson(1.01), "sampling rate 1.01"),
        (lambda: poisson(math.nan), "sampling rate nan"),
        (lambda: fixed_size_gaussian(population=10, batch=11, noise_multiplier=1, steps=1), "batch 11 of 10"),
        (lambda: fixed_size_gaussian(population=10, batch=0, noise_multiplier=1, steps=1), "batch 0 of 10"),
        (lambda: parallel({}), "list of classes is empty"),
        (lambda: branches(gaussian(1.0, 10**8)), "1e+08 releases"),
    ],
)
def test_bad_parameters_are_refused(build: Any, said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)) as caught:
        build()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "event",
    [
        dp_event.LaplaceDpEvent(1.0),
        dp_event.NonPrivateDpEvent(),
        dp_event.UnsupportedDpEvent(),
        dp_event.PoissonSampledDpEvent(0.1, dp_event.LaplaceDpEvent(1.0)),
        composed([gaussian(1.0), dp_event.ZCDpEvent(0.1)]),
    ],
)
@pytest.mark.parametrize("accountant", [epsilon_rdp, epsilon_pld])
def test_unknown_events_are_never_approximated(event: DpEvent, accountant: Any) -> None:
    with pytest.raises(BadInput, match="not approximated"):
        accountant(event, DELTA)


def test_full_sample_is_no_sample() -> None:
    assert poisson(1.0) == gaussian(1.0, 100)
    assert fixed_size_gaussian(population=10, batch=10, noise_multiplier=2.0, steps=3) == gaussian(2.0, 3)


def test_equal_mechanisms_are_merged_against_naive() -> None:
    one_by_one = composed([poisson(0.01, steps=1) for _ in range(300)] + [composed([gaussian(5.0)] * 2)])
    at_once = composed([gaussian(5.0, 2), poisson(0.01, steps=300)])
    assert branches(one_by_one) == branches(at_once)
    assert len(branches(one_by_one)[0]) == 2
    assert (num_releases(one_by_one), worst_sampling_rate(one_by_one)) == (302, 1.0)


def test_releases_of_one_sample_count_together_against_theory() -> None:
    together = dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.01, gaussian(4.0, 9)), 50)
    assert branches(together)[0][0].event.event.noise_multiplier == pytest.approx(4 / 3, rel=1e-12)
    assert epsilon_rdp(together, DELTA) == pytest.approx(epsilon_rdp(poisson(0.01, 4 / 3, 50), DELTA), rel=1e-9)
    assert epsilon_rdp(together, DELTA) > 1.1 * epsilon_rdp(poisson(0.01, 4.0, 50 * 9), DELTA)


def test_parallel_costs_its_worst_class_against_naive() -> None:
    classes = {"a": poisson(0.01), "b": poisson(0.03), "c": poisson(0.03, noise=1.5)}
    event = parallel(classes)
    assert [len(branches(event)), worst_sampling_rate(event), num_releases(event)] == [1, 0.03, 100]
    for accountant in (epsilon_rdp, epsilon_pld):
        assert accountant(event, DELTA) == max(accountant(part, DELTA) for part in classes.values())


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_parallel_costs_its_longest_class_against_naive(names: str) -> None:
    short, long = poisson(0.02, steps=10), poisson(0.02, steps=1000)
    event = parallel(dict(zip(names, (short, long), strict=True)))
    assert branches(event) == branches(long)


def test_parallel_keeps_classes_that_cannot_be_compared() -> None:
    often, loud = poisson(0.05, noise=2.0, steps=100), poisson(0.01, noise=0.8, steps=100)
    event = parallel({"often": often, "loud": loud})
    assert len(branches(event)) == 2
    assert epsilon_rdp(event, DELTA) == max(epsilon_rdp(often, DELTA), epsilon_rdp(loud, DELTA))


def test_steps_of_parallel_classes_against_naive() -> None:
    """A record keeps its class from step to step: composing the worst of each step would charge it for two classes."""
    first = parallel({"a": poisson(0.05), "b": poisson(0.01)})
    second = parallel({"a": poisson(0.01), "b": poisson(0.05)})
    everybody = gaussian(10.0)
    record = composed([poisson(0.05), poisson(0.01), everybody])
    assert epsilon_rdp(composed([first, second, everybody]), DELTA) == epsilon_rdp(record, DELTA)
    assert epsilon_rdp(composed([first, second]), DELTA) < epsilon_rdp(composed([poisson(0.05)] * 2), DELTA)


def test_class_left_out_of_a_step_pays_nothing_for_it() -> None:
    only_a = parallel({"a": poisson(0.05)})
    event = composed([only_a, parallel({"a": poisson(0.01), "b": poisson(0.01)})])
    assert epsilon_rdp(event, DELTA) == epsilon_rdp(composed([poisson(0.05), poisson(0.01)]), DELTA)
    assert len(branches(event)) == 2


def test_neighbouring_relations_are_not_mixed() -> None:
    fixed = fixed_size_gaussian(population=100, batch=5, noise_multiplier=1.0, steps=2)
    assert neighbouring_relation(fixed) == "replace-one"
    assert neighbouring_relation(poisson(0.1)) == neighbouring_relation(gaussian(1.0)) == "add-or-remove-one"
    for event in (composed([fixed, poisson(0.1)]), parallel({"a": fixed})):
        for account in (neighbouring_relation, lambda e: epsilon_rdp(e, DELTA), lambda e: epsilon_pld(e, DELTA)):
            with pytest.raises(BadInput, match="cannot be composed"):
                account(event)


@pytest.mark.parametrize("rate", [0.1, 1.0])
@pytest.mark.parametrize("batch", [5, 100])
def test_samplings_of_a_ledger_are_not_mixed(rate: float, batch: int) -> None:
    """A sum of everybody with noise 2C is (1.99, 10⁻⁵)-DP where a record is added, but (4.38, 10⁻⁵) where replaced."""
    both = [Event(group=None, sampling=how, noise_multiplier=2.0) for how in (Poisson(rate=rate), fixed_size(batch))]
    with pytest.raises(BadConfig, match="cannot be composed"):
        ledger_event(tuple((event, 1) for event in both))


@pytest.mark.parametrize("batch", [5, 100])
def test_fixed_samples_are_about_replacement_even_of_everybody(batch: int) -> None:
    event = Event(group=None, sampling=fixed_size(batch), noise_multiplier=2.0)
    assert relation_of_ledger(((event, 1),)) == "replace-one"
    assert relation_of_ledger(((replace(event, sampling=Poisson(rate=1.0)), 1),)) == "add-or-remove-one"


def fixed_size(batch: int) -> FixedSize:
    return FixedSize(batch=batch, population=100)


@pytest.mark.parametrize(
    "event",
    [
        gaussian(0.1 + 0.2),
        dp_event.NoOpDpEvent(),
        poisson(1 / 3, noise=math.pi, steps=7),
        fixed_size_gaussian(population=100, batch=7, noise_multiplier=1.0, steps=2),
        composed([gaussian(1.0), composed([poisson(0.5), gaussian(2.0, 3)])]),
        parallel({"b": poisson(0.1), "a": gaussian(1.0)}),
    ],
)
def test_ledger_round_trip(event: DpEvent) -> None:
    text = json.dumps(event_to_json(event), sort_keys=True)
    assert event_from_json(json.loads(text)) == event
    assert json.dumps(event_to_json(event_from_json(json.loads(text))), sort_keys=True) == text


def test_equal_events_give_equal_bytes() -> None:
    one, other = parallel({"b": poisson(0.1), "a": gaussian(1)}), parallel({"a": gaussian(1.0), "b": poisson(0.1)})
    assert json.dumps(event_to_json(one)) == json.dumps(event_to_json(other))


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {},
        "gaussian",
        {"event": "laplace"},
        {"event": "gaussian"},
        {"event": "gaussian", "noise_multiplier": "loud"},
        {"event": "gaussian", "noise_multiplier": -1},
        {"event": "gaussian", "noise_multiplier": None},
        {"event": "poisson-sampled", "sampling_rate": 2, "of": {"event": "gaussian", "noise_multiplier": 1}},
        {"event": "poisson-sampled", "sampling_rate": 0.1},
        {"event": "repeated", "count": 0, "of": {"event": "nothing"}},
        {"event": "repeated", "count": 1.5, "of": {"event": "nothing"}},
        {"event": "repeated", "count": True, "of": {"event": "nothing"}},
        {"event": "fixed-size-sampled", "population": 2, "batch": 3, "of": {"event": "nothing"}},
        {"event": "composed", "of": 3},
        {"event": "parallel", "of": []},
        {"event": "parallel", "of": {}},
    ],
)
def test_a_ledger_that_is_none_is_refused(record: Any) -> None:
    with pytest.raises(BadInput) as caught:
        event_from_json(record)
    assert "\n" not in str(caught.value)


def test_an_event_no_ledger_knows_is_refused() -> None:
    with pytest.raises(BadInput, match="LaplaceDpEvent cannot be written"):
        event_to_json(dp_event.LaplaceDpEvent(1.0))
    assert issubclass(BadData, BadInput)
