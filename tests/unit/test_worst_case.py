"""The audit at the door: which designs refute what, where no tightness can be had, and the record that is kept."""

import dataclasses
import math
from pathlib import Path

import pytest
from calibration.planted_faults import noise_halved

from audit.engine.executor import InProcess
from audit.engine.where import Where
from audit.games.neighbours import DESIGNS
from audit.games.transcript.experiment import Experiment
from audit.games.transcript.record import run_worst_case
from audit.games.transcript.resolve import _class_sizes
from audit.games.transcript.runs import choose_length, groups_of
from audit.games.transcript.transcripts import listen
from audit.games.transcript.verdict import granted_family, try_all
from condensers.ledger import EVERYBODY, Event, FixedSize, Poisson
from condensers.registry import get_method
from reports.records.schema import dump
from reports.records.worst_case import WorstCaseReport, load_worst_case

# σ of ε = 1 and 8 at δ = 1e-5 for 10 steps at rate ½: audit worst-case --method psg --epsilon 1 (8)
NOISE = {1.0: 6.178, 8.0: 1.2}


def experiment(name, trials, *, seed=0, **changes):
    method = get_method(name)
    return Experiment(
        method=method,
        config=method.config(**method.presets["worst-case"] | changes),
        class_sizes=(10.0, 10.0),
        input_shape=(1, 8, 8),
        trials=trials,
        seed=seed,
        delta=1e-5,
        confidence=0.95,
    )


def attempts_on(asked):
    length = choose_length(asked)
    designs = [design for design in asked.designs if DESIGNS[design]]
    return try_all(asked, {design: listen(asked, design, length, learned=False) for design in designs})


def test_dyn_psg_is_refuted_and_psg_is_not_with_the_same_pools():
    """C = 8 for both, so that the adversary has the same canary for both; the empty pool is not needed to refute."""
    pools = {"noise_multiplier": NOISE[1.0], "clip": 8.0}
    dynamic, sound = experiment("dyn-psg", 800, **pools), experiment("psg", 800, **pools)
    assert choose_length(dynamic) == choose_length(sound)
    refuted = {(attempt.design, attempt.score) for attempt in attempts_on(dynamic) if attempt.test.refuted}
    assert ("ordinary", "energy") in refuted
    assert ("alone", "energy") in refuted
    assert not any(attempt.test.refuted for attempt in attempts_on(sound))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
@pytest.mark.parametrize("name", ["psg", "dpsgd", "dpmix"])
def test_sound_methods_are_not_refuted_in_twenty_seeds(name, epsilon):
    """Each is refuted with probability at most 5% by construction; at these seeds none is."""
    for seed in range(20):
        attempts = attempts_on(experiment(name, 400, seed=seed, noise_multiplier=NOISE[epsilon]))
        assert not any(attempt.test.refuted for attempt in attempts), seed


@pytest.mark.parametrize("name", ["psg", "dpsgd"])
def test_half_of_the_noise_is_refuted(name):
    with noise_halved():
        attempts = attempts_on(experiment(name, 2000, noise_multiplier=NOISE[8.0]))
    assert any(attempt.test.refuted for attempt in attempts)


def test_the_unaccounted_round_of_psg_as_published_is_refuted_where_it_is_half_of_all():
    """One round of ten releases is accounted, two are made."""
    schedule = {"iterations": 1, "outer": 10, "noise_multiplier": NOISE[8.0]}
    sound, published = (attempts_on(experiment("psg", 3000, as_published=each, **schedule)) for each in (False, True))
    assert not any(attempt.test.refuted for attempt in sound)
    assert any(attempt.test.refuted for attempt in published)


def test_fixed_size_samples_are_audited_by_replacement():
    """DPMix is not refuted; with half of its noise the replaced canary tells."""
    asked = experiment("dpmix", 3000, noise_multiplier=1.0)
    assert "replaced" in asked.designs
    assert not any(attempt.test.refuted for attempt in attempts_on(asked))
    with noise_halved():
        refuted = {attempt.design for attempt in attempts_on(asked) if attempt.test.refuted}
    assert refuted == {"replaced"}


@pytest.mark.parametrize(("name", "total"), [("ldpdc", 80.0), ("psg", 40.0), ("dpmix", 40.0)])
def test_class_sizes_make_the_rate_that_of_a_record(name, total):
    """A batch of ten at a rate of ¼ is from forty: of a class, or of everybody."""
    asked = experiment(name, 400, batch=10)
    sizes = _class_sizes(asked.method, asked.config, 0.25)
    assert sum(sizes) == total
    assert {event.sampling.rate for event, _ in asked.method.plan(asked.config, sizes)} == {0.25}


def test_the_canary_is_the_one_that_the_clipping_norm_lets_through():
    """A network is sure of the class of large pixels, and half of the time right: its gradient is then zero."""
    assert choose_length(experiment("psg", 400)) == 0.1
    assert choose_length(experiment("ldpdc", 400)) == 100.0
    assert choose_length(experiment("ndpdc", 400)) == 100.0


def poisson_event(**changes):
    fields = {"group": EVERYBODY, "sampling": Poisson(rate=0.5), "noise_multiplier": 2.0}
    return Event(**fields | changes)


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        (((poisson_event(noise_by="batch-max"), 3),), "depends on the records"),
        (((poisson_event(sampling=FixedSize(batch=1, population=2)), 3),), "fixed size"),
        (((poisson_event(), 3), (poisson_event(noise_multiplier=1.0), 1)), "several mechanisms"),
        (((poisson_event(group=0), 3), (poisson_event(noise_multiplier=1.0), 1)), "several mechanisms"),
    ],
    ids=["batch-max", "fixed-size", "composed", "composed with everybody"],
)
def test_no_family_is_granted(entries, reason):
    assert reason in granted_family(entries)


def test_a_family_is_granted_to_one_mechanism_that_repeats():
    assert granted_family(((poisson_event(), 7),)) == (0.5, 7)
    assert granted_family(((poisson_event(group=0), 7), (poisson_event(group=1), 7))) == (0.5, 7)
    assert granted_family(((poisson_event(group=0), 7), (poisson_event(), 2))) == (0.5, 9)
    assert granted_family(((poisson_event(), 7), (poisson_event(accounted=False), 2))) == (0.5, 7)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    asked = experiment("dyn-psg", 200, noise_multiplier=NOISE[1.0])
    return run_worst_case(
        asked, "audit worst-case --method dyn-psg", Where(out=out, executor=InProcess()), lambda _: None
    )


def test_record_is_kept_and_read_back(kept, tmp_path):
    text = (Path(kept.run_directory) / "report.json").read_text()
    found = load_worst_case(text)
    assert isinstance(found, WorstCaseReport)
    assert found.run_directory == f"worst-case-dyn-psg-transcript-{kept.digest}"
    assert dataclasses.replace(found, run_directory=kept.run_directory, pdf=kept.pdf) == kept
    assert dump(found) == text
    assert found.tightness is None
    assert "depends on the records" in found.tightness_reason
    assert {"alone", "opposed", "ordinary"} <= {attempt.design for attempt in found.attempts} <= set(found.designs)
    # The scores share half of the error, also those that turned out to be constant; the bound has the other half.
    assert all(attempt.test.num_tries >= 2 * len(found.attempts) for attempt in found.attempts)
    assert len({attempt.test.num_tries for attempt in found.attempts}) == 1
    assert all(bound.num_tries == 2 for bound in found.bounds)
    assert [check.name for check in found.contracts] == ["replay", "one by one", "groups", "ledger"]
    asked = experiment("dyn-psg", 200, noise_multiplier=NOISE[1.0])
    again = run_worst_case(asked, kept.command, Where(out=tmp_path, executor=InProcess()), lambda _: None)
    assert (Path(again.run_directory) / "report.json").read_text() == text


def test_infinite_bounds_survive_the_record(kept):
    infinite = dataclasses.replace(kept, epsilon=dataclasses.replace(kept.epsilon, lower=math.inf, ceiling=math.inf))
    assert load_worst_case(dump(infinite)).epsilon.lower == math.inf


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "condensation-audit/1", "attack": "lira"}',
                                  '{"schema": "condensation-audit/1", "attack": "worst-case"}'])  # fmt: skip
def test_another_file_is_refused_in_one_line(text):
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        load_worst_case(text)


def test_a_design_by_itself_has_all_runs_and_beside_others_a_quarter():
    asked = experiment("ldpdc", 1000)
    alone = dataclasses.replace(asked, only=("blank",))
    runs = [sum(group.num_runs for group in groups_of(one, design)) for one, design in
            ((alone, "blank"), (asked, "blank"), (asked, "alone"))]  # fmt: skip
    assert runs == [1000, 250, 1000]
