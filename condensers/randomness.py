"""Keyed randomness: every draw is a function of (seed, scope, purpose, counters), never of global state.

Streams are Philox, a counter-based generator (Salmon et al. 2011), keyed by a BLAKE2b digest. They are drawn on
the host, so that a seed means the same numbers on every device.

*Public* streams (networks, augmentations, initial noise) are shared by all runs of a game; a report says that the
adversary knows them. *Private* streams (batch sampling, DP noise, training of the victims) belong to one run.
"""

import hashlib
import json
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Randomness:
    """The streams of a group of runs. `runs` are their numbers in the game.

    With `independent`, the public streams are keyed by the run as well, as if every run had been made by
    somebody else: the papers' own terms. Such a group has one run.
    """

    seed: int
    runs: tuple[int, ...]
    independent: bool = False

    def __post_init__(self) -> None:
        if self.independent and len(self.runs) != 1:
            raise ValueError(f"independent randomness takes one run at a time, got {len(self.runs)}")

    def public(self, purpose: str, *counters: int) -> np.random.Generator:
        """The stream that all runs share (or, if independent, that the one run has to itself)."""
        scope = f"run {self.runs[0]}" if self.independent else "game"
        return stream(self.seed, "public", scope, purpose, *counters)

    def private(self, position: int, purpose: str, *counters: int) -> np.random.Generator:
        """The stream of the run at `position` in this group."""
        return stream(self.seed, "private", self.runs[position], purpose, *counters)


def stream(seed: int, *key: str | int) -> np.random.Generator:
    """The generator of a key."""
    digest = hashlib.blake2b(json.dumps([seed, *key]).encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))


def draw_uniform(generator: np.random.Generator, shape: tuple[int, ...], device: torch.device) -> Tensor:
    """float32 in [0, 1)."""
    return to_device(generator.random(shape, dtype=np.float32), device)


def draw_normal(generator: np.random.Generator, shape: tuple[int, ...], device: torch.device) -> Tensor:
    """float32, standard normal."""
    return to_device(generator.standard_normal(shape, dtype=np.float32), device)


def to_device(values: np.ndarray, device: torch.device) -> Tensor:
    """Move without making the host wait for the device."""
    host = torch.from_numpy(values)
    if device.type == "cuda":
        return host.pin_memory().to(device, non_blocking=True)
    return host.to(device)
