"""The door that a method is handed: nothing private is an attribute of it, and nothing of it can be changed."""

import pytest
import torch

from condensers.errors import BadConfig, BrokenContract
from condensers.guard import GuardedDoor
from condensers.ledger import Ledger, Poisson
from condensers.mechanism import Door, Request
from condensers.pool import Pool
from condensers.randomness import Randomness


@pytest.fixture
def door():
    pool = Pool(name="few", images=torch.ones(4, 3), labels=torch.tensor([0, 0, 1, 1]), num_classes=2)
    included = torch.ones(2, 4, dtype=torch.bool)
    return Door(pool, included, class_sizes=(2.0, 2.0), randomness=Randomness(seed=0, runs=(0, 1)))


def request(vectors=lambda images, _: images):
    return Request(group=0, sampling=Poisson(rate=0.5), vectors=vectors)


def test_it_releases_as_the_door_does(door):
    guarded = GuardedDoor(door)
    assert (guarded.num_runs, guarded.num_classes, guarded.input_shape) == (2, 2, (3,))
    sums = guarded.release([request()], dim=3, clip=1.0, noise_multiplier=1.0)
    assert sums.shape == (2, 1, 3)
    assert guarded.ledger.entries == door.ledger.entries != ()


def test_what_is_private_cannot_be_reached_nor_anything_changed(door):
    guarded = GuardedDoor(door)
    with pytest.raises(BrokenContract, match=r"reads door\._Door__pool"):
        guarded._Door__pool  # noqa: B018
    with pytest.raises(BrokenContract, match=r"assigns door\.ledger"):
        guarded.ledger = Ledger()
    guarded.release([request()], dim=3, clip=1.0, noise_multiplier=1.0)
    guarded.ledger.write([])  # a copy
    assert door.ledger.num_releases == 1
    assert not any(isinstance(getattr(guarded.release, name, None), Door) for name in ("__self__", "__wrapped__"))


@pytest.mark.parametrize("rows", [2, 0])
def test_vectors_of_another_shape_are_one_line(door, rows):
    twice = request(lambda images, _: images.repeat(rows, 1))
    with pytest.raises(BadConfig, match="one row of `dim` numbers for each record"):
        GuardedDoor(door).release([twice], dim=3, clip=1.0, noise_multiplier=1.0)
