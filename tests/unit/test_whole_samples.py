"""What the adversary of the transcript expects of whole samples and of shards, and the noise test that uses it."""

import numpy as np
import pytest
import torch

from audit.games.neighbours import designs_for, make_trials, neighbouring_pools
from audit.games.transcript.noise import NoiseRecorder, examine_noise
from audit.games.transcript.whole_samples import WholeSamples
from condensers.ledger import EVERYBODY, Event, FixedSize, Poisson
from condensers.mechanism import Door
from condensers.randomness import Randomness
from condensers.samples import BatchRequest, ShardRequest

TRIALS, DIM, RELEASES = 60, 16, 3


def ask_batch(door):
    """A function of the sample that is far from zero where nobody is in it."""
    request = BatchRequest(
        group=EVERYBODY,
        sampling=Poisson(rate=0.5),
        vector=lambda images, _, present: 0.5 + images.flatten(2).sum(1)[:, :DIM] + present.sum(1, keepdim=True),
    )
    door.release_batch(request, dim=DIM, clip=1.0, noise_multiplier=0.8)


def ask_shards(door):
    """Learners that move at every release, so that each must be followed exactly once."""
    request = ShardRequest(
        shards=2,
        count=2,
        start={"w": torch.full((DIM,), 0.1)},
        learn=lambda learners, *sample: {"w": learners["w"] + 0.2 * (1 + sample[2].sum(1, keepdim=True))},
        vectors=lambda learners: torch.stack([learners["w"], -learners["w"]], 1),
    )
    door.release_shards(request, dim=DIM, clip=5.0, noise_multiplier=0.1)


def noise_p_values(ask, followed, seed):
    """Of two listeners that share what they expect."""
    pool, trials = neighbouring_pools((1, 8, 8), 2, seed=0), make_trials("alone", 0, TRIALS, 2)
    members, whole = trials.members(pool), WholeSamples(pool, trials.canaries)
    recorders = [NoiseRecorder(~members[:-1].any(1).numpy(), whole) for _ in range(2)]
    door = Door(
        pool, members, class_sizes=(9.0, 9.0), randomness=Randomness(seed=seed, runs=tuple(range(TRIALS + 1))),
        listeners=recorders,
    )  # fmt: skip
    if not followed:
        whole.expect = lambda *_: (torch.zeros(TRIALS + 1, 1), torch.zeros(TRIALS + 1, 1))
    for _ in range(RELEASES):
        ask(door)
    found = [examine_noise(recorder.tensors(), num_tries=1).p_value for recorder in recorders]
    assert found[0] == found[1]
    return found


@pytest.mark.parametrize("ask", [ask_batch, ask_shards])
@pytest.mark.parametrize("followed", [True, False])
def test_noise_of_runs_without_records_against_standard_normal(ask, followed):
    """Two listeners share the expectation; what is expected of another release is noticed."""
    # Ten seeds, all of them counted: seed 4 of the shards is a draw of p = .001, whose like 80 seeds did not repeat.
    p_values = [p for seed in range(10) for p in noise_p_values(ask, followed, seed)]
    smallest = 10 * min(p_values)
    assert smallest > 1e-3 if followed else smallest < 1e-6


@pytest.mark.parametrize("alone", [True, False])
def test_a_run_by_itself_has_nobody_beside_it(alone):
    pool = neighbouring_pools((1, 8, 8), 2, seed=0)
    canaries = np.array([0, 9])
    whole = WholeSamples(pool, canaries, alone=alone)
    heard = []
    request = BatchRequest(
        group=EVERYBODY, sampling=Poisson(rate=0.5), vector=lambda images, *_: images.flatten(2).sum(1)
    )
    runs = tuple(range(2 if alone else 3))
    members = torch.zeros(len(runs), pool.num_records, dtype=torch.bool)
    door = Door(
        pool, members, class_sizes=(9.0, 9.0), randomness=Randomness(seed=4, runs=runs), listeners=[heard.append]
    )
    door.release_batch(request, dim=64, clip=1.0, noise_multiplier=0.8)
    without, present = whole.expect(heard[0], request)
    assert len(without) == len(present) == len(runs)


def test_only_the_canary_alone_is_a_design_for_whole_samples():
    event = Event(group=EVERYBODY, sampling=FixedSize(batch=1, population=4), noise_multiplier=1.0, of="shard")
    assert designs_for(((event, 3),)) == ("alone",)
