"""Does the canary reach what is released? Asked before anything is measured."""

import numpy as np
import torch
from torch import Tensor

from audit.games.neighbours import Trials, make_trials
from audit.games.transcript.adversary import Eavesdropper
from audit.games.transcript.experiment import Experiment
from audit.games.transcript.runs import TRIAL_RUNS, condense_seeded
from condensers.mechanism import Listener, Release
from condensers.randomness import Randomness

REHEARSED = 1 << 42  # numbers that no audited run has
LEAST_LENGTH = 0.01  # of the canary's vectors, in clipping norms: what is shorter is not heard


def rehearse(experiment: Experiment, design: str, length: float, *, one_by_one: bool) -> str:
    """Why a design does not apply, or nothing: the canary reaches the release, and runs with and without it end.

    Pairs of runs have the same randomness and differ in the canary alone: in what is then equal to the byte it has no
    part. A sample may leave it out, so behind a door its vectors count as well.
    """
    pool, classes = experiment.pool(design, length), len(experiment.class_sizes)
    trials = make_trials(design, 0, TRIAL_RUNS, classes, pool.num_records // classes)
    alone = one_by_one or not experiment.method.private
    found: list[list[Tensor]] = []
    typical = 0.0  # of the canary's vectors
    for has_canary in (True, False):
        these = Trials(
            design=design,
            labels=trials.labels,
            has_canary=np.full(TRIAL_RUNS, has_canary),
            num_classes=classes,
            places=trials.places,
        )
        members, seen = these.members(pool), list[Tensor]()

        def keep(release: Release, seen: list[Tensor] = seen) -> None:
            seen.append(release.sums.clone())

        ear = Eavesdropper(pool, trials)
        listeners: list[Listener] = [keep, ear] if not alone else [keep]
        for rows in [slice(row, row + 1) for row in range(TRIAL_RUNS)] if alone else [slice(0, TRIAL_RUNS + 1)]:
            runs = tuple(range(REHEARSED + rows.start, REHEARSED + rows.stop))
            randomness = Randomness(seed=experiment.seed, runs=runs, independent=not experiment.method.private)
            batch, _ = condense_seeded(experiment, pool, members[rows], randomness, listeners)
            seen += [batch.images, batch.labels]
            for released in (batch.networks, batch.generators):
                seen += [] if released is None else list(released.parameters.values())
        typical = max(typical, ear.typical)
        found.append(seen)
    if not all(bool(tensor.isfinite().all()) for seen in found for tensor in seen):
        return "what the method releases is not finite"
    same = len(found[0]) == len(found[1]) and all(torch.equal(one, other) for one, other in zip(*found, strict=True))
    return "the canary does not reach the release" if same and typical < LEAST_LENGTH else ""
