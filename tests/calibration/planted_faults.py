"""The twelve faults of docs/faults.md, planted in the door or around it, and what the audits say.

As a program it prints the table:  PYTHONPATH=.:tests python tests/calibration/planted_faults.py [part of a name …]

Numbers of runs were fixed per fault and ε before the table was made; they are in `FAULTS`.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from unittest import mock

import numpy as np
import torch

from audit.accounting.curve import tradeoff_curve
from audit.accounting.ledger import ledger_event
from audit.games.neighbours import DESIGNS, make_trials, neighbouring_pools
from audit.games.transcript.experiment import Experiment
from audit.games.transcript.transcripts import listen
from audit.games.transcript.verdict import CHOOSE_ON, try_all
from audit.statistics.estimators.curve import CurveTest, refute_curve
from audit.statistics.estimators.evidence import RunEvidence
from audit.statistics.estimators.thresholds import Split
from condensers import mechanism, ndpdc, sums
from condensers.ledger import Ledger
from condensers.mechanism import Door
from condensers.randomness import Randomness
from condensers.registry import condense_runs, get_method
from condensers.samples import clip_vectors
from reports.records.worst_case import Attempt

# σ calibrated to ε at δ = 1e-5 for 10 steps at rate ½: audit worst-case --method ldpdc --epsilon 8
NOISE = {1.0: 6.178, 8.0: 1.2}
CLASSES, SHAPE = 2, (1, 8, 8)
draw, write, add_up = Door._draw, Ledger.write, sums.add_up
Plant = Callable[[], contextlib.AbstractContextManager[object]]


def changed_noise(change: Callable[[np.ndarray, int], np.ndarray]) -> contextlib.AbstractContextManager[object]:
    def faulty(self, requests, dim, index):
        taken, noise = draw(self, requests, dim, index)
        return taken, np.ascontiguousarray(change(noise, index))

    return mock.patch.object(Door, "_draw", faulty)


def noise_halved():
    return changed_noise(lambda noise, _: noise / 2)


def noise_missing_in_one_class():
    return changed_noise(lambda noise, _: noise * np.array([1, 0], dtype=np.float32)[None, :, None])


def noise_shared_by_runs():
    return changed_noise(lambda noise, _: np.broadcast_to(noise[:1], noise.shape))


@contextlib.contextmanager
def noise_used_at_every_step() -> Iterator[None]:
    first: dict[int, np.ndarray] = {}

    def again(noise, index):
        if index == 0:
            first[0] = noise
        return first[0]

    with changed_noise(again):
        yield


def clipping_skipped():
    return mock.patch.object(sums, "clip_vectors", lambda vectors, _: vectors)


def clip_norm_twice_what_the_noise_is_scaled_by():
    return mock.patch.object(sums, "clip_vectors", lambda vectors, clip: clip_vectors(vectors, 2 * clip))


@contextlib.contextmanager
def clipping_after_the_sum() -> Iterator[None]:
    clips = []

    def unclipped(vectors, clip):
        clips.append(clip)
        return vectors

    def faulty(totals, parts):
        add_up(totals, parts)
        if clips:
            totals.copy_(clip_vectors(totals, clips[-1]))

    with mock.patch.object(sums, "clip_vectors", unclipped), mock.patch.object(mechanism, "add_up", faulty):
        yield


def sampling_rate_understated():
    """Everybody is taken, where the ledger says half."""
    return mock.patch.object(mechanism, "take", lambda members, *_: members)


def fixed_size_accounted_as_poisson():
    """The first L of a shuffled class, or all of them, where the ledger says each with probability L/N_c."""

    def faulty(members, coins, _):
        return members & (np.argsort(np.argsort(np.where(members, coins, np.inf), axis=1), axis=1) < 10)

    return mock.patch.object(mechanism, "take", faulty)


def steps_under_counted():
    """Every second release is not entered."""

    def faulty(self, events):
        write(self, list(events) if self.num_releases % 2 else [])

    return mock.patch.object(Ledger, "write", faulty)


def sound():
    return contextlib.nullcontext()


def behind(door):
    """Pool and members, as a malicious plugin finds them: through the closure of the guarded door."""
    (real,) = (cell.cell_contents for cell in door._ask.__closure__ if isinstance(cell.cell_contents, Door))
    return real._Door__pool, real._Door__members


def started_from_records(condense, door, config, **streams):
    """The images of a class start from its first record, where the run has one."""
    pool, members = behind(door)

    def faulty(num_images, shape, runs, *_):
        images, records = ndpdc_noise(num_images, shape, runs, *_)
        for run, label in np.argwhere(members.reshape(runs, CLASSES, -1).any(2)):
            first = 2 * label + int(members[run, 2 * label : 2 * label + 2].argmax())
            images[run, label * config.ipc : (label + 1) * config.ipc] = pool.images[first]
        return images, records

    with mock.patch.object(ndpdc, "initial_noise", faulty):
        return condense(door, config, **streams)


ndpdc_noise = ndpdc.initial_noise


def in_units_of_the_records(condense, door, config, **streams):
    """Images are given back times the standard deviation of the run's own records."""
    batch = condense(door, config, **streams)
    pool, members = behind(door)
    weights = torch.from_numpy(members).float()
    squares = pool.images.flatten(1).square().mean(1)
    scale = (weights @ squares / weights.sum(1).clamp(min=1)).sqrt()
    return replace(batch, images=batch.images * scale.view(-1, *[1] * (batch.images.ndim - 1)))


def labels_say_how_many(condense, door, config, **streams):
    """Every label comes with the number of records of each class."""
    batch = condense(door, config, **streams)
    counts = torch.from_numpy(behind(door)[1].reshape(door.num_runs, CLASSES, -1).sum(2)).float()
    return replace(batch, labels=counts.unsqueeze(1).expand(-1, batch.labels.shape[1], -1))


def nothing_leaks(condense, door, config, **streams):
    return condense(door, config, **streams)


def nearest_to_the_canary(batch, pool, labels):
    canaries = pool.images[2 * torch.from_numpy(labels)].unsqueeze(1)
    return -(batch.images[:-1] - canaries).flatten(2).norm(dim=2).amin(1).numpy()


def size_of_the_images(batch, *_):
    return batch.images[:-1].flatten(1).norm(dim=1).numpy()


def count_of_the_class(batch, _, labels):
    return batch.labels[:-1][torch.arange(len(labels)), 0, torch.from_numpy(labels)].numpy()


@dataclass(frozen=True, kw_only=True)
class Fault:
    """At level transcript `plant` breaks the door; at level set `leak` wraps the method, and `score` reads its set."""

    trials: dict[float, int]
    plant: Plant = sound
    method: str = "ldpdc"
    leak: Callable | None = None
    score: Callable | None = None

    @property
    def level(self) -> str:
        return "transcript" if self.leak is None else "set"


USUAL, MORE, FEW = {8.0: 8000, 1.0: 20_000}, {8.0: 8000, 1.0: 80_000}, {8.0: 1000, 1.0: 1000}
FAULTS: dict[str, Fault] = {
    "noise halved": Fault(plant=noise_halved, trials=USUAL),
    "noise missing in one class": Fault(plant=noise_missing_in_one_class, trials=USUAL),
    "clipping skipped": Fault(plant=clipping_skipped, trials=USUAL),
    "clipping after the sum": Fault(plant=clipping_after_the_sum, trials=MORE),
    "clip norm twice what the noise is scaled by": Fault(
        plant=clip_norm_twice_what_the_noise_is_scaled_by, trials=USUAL
    ),
    "noise reused between steps": Fault(plant=noise_used_at_every_step, trials=USUAL),
    "noise reused between runs": Fault(plant=noise_shared_by_runs, trials=USUAL),
    "sampling rate understated (all are taken)": Fault(plant=sampling_rate_understated, trials=USUAL),
    "fixed-size sampling accounted as Poisson": Fault(plant=fixed_size_accounted_as_poisson, trials=USUAL),
    "steps under-counted (every second)": Fault(plant=steps_under_counted, trials=MORE),
    "initial images taken from real data": Fault(
        method="ndpdc", leak=started_from_records, score=nearest_to_the_canary, trials=FEW
    ),
    "normalisation by private statistics": Fault(leak=in_units_of_the_records, score=size_of_the_images, trials=FEW),
    "label counts leaked": Fault(leak=labels_say_how_many, score=count_of_the_class, trials=FEW),
}
SOUND = {
    "none": Fault(trials=MORE),
    "none, nearest image": Fault(method="ndpdc", leak=nothing_leaks, score=nearest_to_the_canary, trials=FEW),
    "none, size of the images": Fault(leak=nothing_leaks, score=size_of_the_images, trials=FEW),
}


def experiment_on(method: str, *, epsilon: float, trials: int, seed: int = 0, **changes: object) -> Experiment:
    torch.set_num_threads(1)
    found = get_method(method)
    return Experiment(
        method=found,
        config=found.config(**found.presets["worst-case"] | {"noise_multiplier": NOISE[epsilon], **changes}),
        class_sizes=(20.0,) * CLASSES,
        input_shape=SHAPE,
        trials=trials,
        seed=seed,
        delta=1e-5,
        confidence=0.95,
    )


def attempts_on(method: str, *, epsilon: float, trials: int, seed: int = 0, **changes: object) -> tuple[Attempt, ...]:
    """The scores of `audit worst-case` that were written down beforehand, without the learned ones and the bounds."""
    experiment = experiment_on(method, epsilon=epsilon, trials=trials, seed=seed, **changes)
    designs = [design for design in experiment.designs if DESIGNS[design]]
    return try_all(experiment, {design: listen(experiment, design, learned=False) for design in designs})


def audit_the_set(fault: Fault, *, epsilon: float, trials: int) -> CurveTest:
    """One score of the synthetic set, held against the curve of the ledger; one other record of the class is in."""
    experiment = experiment_on(fault.method, epsilon=epsilon, trials=trials)
    pool = neighbouring_pools(SHAPE, CLASSES, experiment.seed)
    runs = make_trials("opposed", 0, trials, CLASSES)

    def leaking(door, config, **streams):
        return fault.leak(experiment.method.condense, door, config, **streams)

    batch, ledger = condense_runs(
        replace(experiment.method, condense=leaking),
        pool,
        runs.members(pool),
        experiment.config,
        class_sizes=experiment.class_sizes,
        randomness=Randomness(seed=experiment.seed, runs=tuple(range(trials + 1))),
    )
    scores = np.asarray(fault.score(batch, pool, runs.labels), dtype=np.float64)
    evidence = RunEvidence(member_scores=scores[runs.has_canary], non_member_scores=scores[~runs.has_canary])
    curve = tradeoff_curve(ledger_event(ledger.entries), directed=True)
    return refute_curve(
        evidence, curve, confidence=experiment.confidence, choice=Split(fraction=CHOOSE_ON), num_tries=1
    )


def examine(fault: Fault, epsilon: float) -> tuple[CurveTest, str]:
    """The test that came out strongest, and by which score."""
    trials = fault.trials[epsilon]
    if fault.leak is not None:
        return audit_the_set(fault, epsilon=epsilon, trials=trials), fault.score.__name__.replace("_", " ")
    with fault.plant():
        attempts = attempts_on(fault.method, epsilon=epsilon, trials=trials)
    best = min(attempts, key=lambda attempt: attempt.test.p_value)
    return best.test, f"{best.score}, canary {best.design}"


def main(parts: list[str]) -> None:
    print("| fault | level | method | ε | runs | verdict | by the score | p |\n|---|---|---|---|---|---|---|---|")
    for name, fault in {**SOUND, **FAULTS}.items():
        if parts and not any(part in name for part in parts):
            continue
        for epsilon in (8.0, 1.0):
            test, score = examine(fault, epsilon)
            verdict, by = ("REFUTED", score) if test.refuted else ("not refuted", "—")
            row = (name, fault.level, f"`{fault.method}`", f"{epsilon:g}", fault.trials[epsilon], verdict, by)
            print("| " + " | ".join(map(str, (*row, f"{test.p_value:.1g}"))) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
