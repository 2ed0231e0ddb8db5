"""Keyed randomness: every draw is a function of (seed, scope, purpose, counters), never of global state.

Streams are Philox, a counter-based generator (Salmon et al. 2011), keyed by a BLAKE2b digest. They are drawn on
the host, so that a seed means the same numbers on every device.

*Public* streams (networks, augmentations, initial noise) are shared by all runs of a game, or by the runs of a group
where there are several public draws; a report says that the adversary knows them. *Private* streams (batch sampling,
DP noise, training of the victims) belong to one run. Audits draw both from the seed. What is released for real must
not: there every private stream has a key of its own from the operating system, kept nowhere.
"""

import hashlib
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Randomness:
    """The streams of a group of runs. `runs` are their numbers in the game, `draw` the number of the public draw.

    With `independent`, the public streams are keyed by the run as well, as if every run had been made by
    somebody else: the papers' own terms. Such a group has one run. With `from_operating_system`, private streams
    are drawn from no seed at all: for releases, which must not be reproducible.
    """

    seed: int
    runs: tuple[int, ...]
    draw: int = 0
    independent: bool = False
    from_operating_system: bool = False

    def __post_init__(self) -> None:
        if self.independent and len(self.runs) != 1:
            raise ValueError(f"independent randomness takes one run at a time, got {len(self.runs)}")

    def public(self, purpose: str, *counters: int) -> np.random.Generator:
        """The stream that all runs share (or, if independent, that the one run has to itself)."""
        return self.only_public.public(purpose, *counters)

    @property
    def only_public(self) -> "PublicRandomness":
        """What a private method may draw from."""
        if self.independent:
            return PublicRandomness(seed=self.seed, scope=f"run {self.runs[0]}")
        return shared_randomness(self.seed, self.draw)

    def private(self, position: int, purpose: str, *counters: int) -> np.random.Generator:
        """The stream of the run at `position` in this group."""
        (key,) = self._private_keys((self.runs[position],), purpose, *counters)
        return np.random.Generator(np.random.Philox(key=key))

    def each_private(self, purpose: str, *counters: int) -> Iterator[np.random.Generator]:
        """The private streams of all runs in turn: the same numbers, twenty times faster than making each.

        It is one generator with ever new keys: use each before asking for the next.
        """
        philox = np.random.Philox(key=0)
        generator, fresh = np.random.Generator(philox), philox.state
        for key in self._private_keys(self.runs, purpose, *counters):
            fresh["state"]["key"][:] = (key & _WORD, key >> 64)
            philox.state = fresh
            yield generator

    def _private_keys(self, runs: tuple[int, ...], purpose: str, *counters: int) -> Iterator[int]:
        if self.from_operating_system:
            yield from (secrets.randbits(128) for _ in runs)
            return
        base = _key(self.seed, "private", purpose, *counters).to_bytes(16, "little")
        for run in runs:
            digest = hashlib.blake2b(run.to_bytes(8, "little"), key=base, digest_size=16).digest()
            yield int.from_bytes(digest, "little")


@dataclass(frozen=True, kw_only=True)
class PublicRandomness:
    """The public streams of a group of runs, and no others."""

    seed: int
    scope: str

    def public(self, purpose: str, *counters: int) -> np.random.Generator:
        """The stream that all runs share."""
        return stream(self.seed, "public", self.scope, purpose, *counters)


def shared_randomness(seed: int, draw: int = 0) -> PublicRandomness:
    """The public streams of one draw; a game with a single draw has draw 0."""
    return PublicRandomness(seed=seed, scope=f"draw {draw}" if draw else "game")


_WORD = (1 << 64) - 1


def seeded_noise(seeds: np.ndarray, dim: int) -> np.ndarray:
    """Standard normal float32 `[seeds, dim]`, what a generator draws right after it was given each of the seeds."""
    philox = np.random.Philox(key=0)
    generator, fresh = np.random.Generator(philox), philox.state
    noise = np.empty((len(seeds), dim), dtype=np.float32)
    for row, seed in zip(noise, seeds.tolist(), strict=True):
        fresh["state"]["key"][:] = (seed, 0)
        philox.state = fresh
        generator.standard_normal(dtype=np.float32, out=row)
    return noise


def stream(seed: int, *key: str | int) -> np.random.Generator:
    """The generator of a key."""
    return np.random.Generator(np.random.Philox(key=_key(seed, *key)))


def _key(seed: int, *key: str | int) -> int:
    digest = hashlib.blake2b(json.dumps([seed, *key]).encode(), digest_size=16).digest()
    return int.from_bytes(digest, "little")


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
