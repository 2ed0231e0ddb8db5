"""Faults planted in the door or in a method, each as a context manager, and what the audit of the transcript says.

As a program it prints the table of docs/faults.md:  PYTHONPATH=.:tests python tests/calibration/planted_faults.py
"""

import contextlib
from collections.abc import Callable, Iterator
from unittest import mock

import numpy as np
import torch

from audit.worst_case import Attempt, Experiment, listen, try_all
from condensers import mechanism
from condensers.ledger import Event, Ledger, Poisson
from condensers.mechanism import Door, clip_vectors
from condensers.registry import get_method

# σ calibrated to ε = 8 (and 1) at δ = 1e-5 for 10 steps at rate ½: audit worst-case --method ldpdc --epsilon 8
NOISE = {1.0: 6.178, 8.0: 1.2}
draw, write, add_up = Door._draw, Ledger.write, Door._sum_shared


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
    return mock.patch.object(mechanism, "clip_vectors", lambda vectors, _: vectors)


def clip_norm_twice_what_the_noise_is_scaled_by():
    return mock.patch.object(mechanism, "clip_vectors", lambda vectors, clip: clip_vectors(vectors, 2 * clip))


@contextlib.contextmanager
def clipping_after_the_sum() -> Iterator[None]:
    def faulty(self, sums, request, sample, clip, size):
        add_up(self, sums, request, sample, 1e9, size)
        sums.copy_(clip_vectors(sums, clip))

    with mock.patch.object(Door, "_sum_shared", faulty):
        yield


def sampling_rate_understated():
    """Everybody is taken, where the ledger says half."""
    return mock.patch.object(mechanism, "_take", lambda members, *_: members)


def fixed_size_accounted_as_poisson():
    """The first L of a shuffled class, or all of them, where the ledger says each with probability L/N_c."""

    def faulty(members, coins, _):
        return members & (np.argsort(np.argsort(np.where(members, coins, np.inf), axis=1), axis=1) < 10)

    return mock.patch.object(mechanism, "_take", faulty)


def steps_under_counted():
    """Every second release is not entered."""

    def faulty(self, events):
        write(self, list(events) if self.num_releases % 2 else [])

    return mock.patch.object(Ledger, "write", faulty)


def noise_multiplier_overstated_in_the_ledger():
    def faulty(self, events):
        write(
            self, [Event(group=e.group, sampling=e.sampling, noise_multiplier=1.5 * e.noise_multiplier) for e in events]
        )

    return mock.patch.object(Ledger, "write", faulty)


def rate_halved_in_the_ledger():
    def faulty(self, events):
        halved = [
            Event(group=e.group, sampling=Poisson(rate=e.sampling.rate / 2), noise_multiplier=e.noise_multiplier)
            for e in events
        ]
        write(self, halved)

    return mock.patch.object(Ledger, "write", faulty)


def sound():
    return contextlib.nullcontext()


FAULTS: dict[str, Callable[[], contextlib.AbstractContextManager[object]]] = {
    "noise halved": noise_halved,
    "noise missing in one class": noise_missing_in_one_class,
    "clipping skipped": clipping_skipped,
    "clipping after the sum": clipping_after_the_sum,
    "clip norm twice what the noise is scaled by": clip_norm_twice_what_the_noise_is_scaled_by,
    "noise reused between steps": noise_used_at_every_step,
    "noise reused between runs": noise_shared_by_runs,
    "sampling rate understated (all are taken)": sampling_rate_understated,
    "sampling rate understated (ledger says half)": rate_halved_in_the_ledger,
    "fixed-size sampling accounted as Poisson": fixed_size_accounted_as_poisson,
    "steps under-counted (every second)": steps_under_counted,
    "noise multiplier overstated by half": noise_multiplier_overstated_in_the_ledger,
}


def attempts_on(method: str, *, epsilon: float, trials: int, seed: int = 0) -> tuple[Attempt, ...]:
    """All that `audit worst-case` tries, without its bounds."""
    torch.set_num_threads(1)
    found = get_method(method)
    experiment = Experiment(
        method=found,
        config=found.config(**found.presets["worst-case"] | {"noise_multiplier": NOISE[epsilon]}),
        class_sizes=(20.0, 20.0),
        input_shape=(1, 8, 8),
        trials=trials,
        seed=seed,
        delta=1e-5,
        confidence=0.95,
    )
    return try_all(experiment, {design: listen(experiment, design, lambda _: None) for design in experiment.designs})


def main() -> None:
    trials = 8000
    print("| fault | method | refuted | by the score | p |\n|---|---|---|---|---|")
    for name, plant in {"none": sound, **FAULTS}.items():
        for method in ("ldpdc", "ndpdc"):
            with plant():
                attempts = attempts_on(method, epsilon=8.0, trials=trials)
            best = min(attempts, key=lambda attempt: attempt.test.p_value)
            by = f"{best.score}, canary {best.design}" if best.test.refuted else "—"
            print(
                f"| {name} | `{method}` | {'yes' if best.test.refuted else 'no'} | {by} | {best.test.p_value:.1g} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
