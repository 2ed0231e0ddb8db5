"""The four kinds of faults of the zoo, and which fault is of which kind."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from condensers.pool import CondensedBatch

AT_THE_DOOR, IN_VECTORS, AROUND, WITHOUT = "at the door", "in vectors", "around the door", "no door"
FAULTS: dict[str, str] = {}


def of_kind(kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        FAULTS[function.__name__.replace("_", "-")] = kind
        return function

    return register


def released(images: Tensor, labels: Tensor) -> CondensedBatch:
    return CondensedBatch(images=images, labels=labels, initial_records=torch.full(labels.shape[:2], -1))


SOUND = ("door_means", "sound_everybody", "own_mechanism", "sound_laplace")
