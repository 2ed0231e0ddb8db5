"""What touched the private records: plain facts, equal for equal mechanisms; what they cost is decided elsewhere.

A noise multiplier is the standard deviation of the noise over the sensitivity of the sum that it hides: the clipping
norm where a record is added or removed (Poisson samples), twice the clipping norm where one is replaced (fixed-size
samples).

Two marks tell apart what ran from what a published proof says of it: `noise_by` other than "clip" is noise whose scale
depends on the records, so that the multiplier is a claim and no guarantee; an event that is not `accounted` took place
and is left out of the claim. `of` says what was clipped: a sum of clipped "records", a whole "batch" (sensitivity 2C),
or the vectors of one "shard" (sensitivity 2C times the root of their number); the multiplier is relative to that.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor

from condensers.errors import BadConfig, BadData
from condensers.fields import check_choice

EVERYBODY = None  # the group of all records; an integer is the group of the records of that class
Group = int | None
OF = ("records", "batch", "shard")
NOISE_BY = ("clip", "batch-max")  # what the noise multiplier is a multiple of: the clip, or the sample's largest norm


@dataclass(frozen=True, kw_only=True)
class Poisson:
    """Every record is in the sample independently with probability `rate`; a record is added or removed."""

    rate: float

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise BadConfig(f"sampling rate {self.rate:g}: must lie in (0, 1]")


@dataclass(frozen=True, kw_only=True)
class FixedSize:
    """`batch` out of `population` records without replacement; a record is replaced."""

    batch: int
    population: int

    def __post_init__(self) -> None:
        if not 1 <= self.batch <= self.population:
            raise BadConfig(f"batch={self.batch}: must lie in 1…{self.population}, the records to sample from")

    @property
    def rate(self) -> float:
        """How likely a record is in the sample."""
        return self.batch / self.population


Sampling = Poisson | FixedSize


@dataclass(frozen=True, kw_only=True)
class Event:
    """One noisy vector of a sample of the group."""

    group: Group
    sampling: Sampling
    noise_multiplier: float
    noise_by: str = "clip"
    accounted: bool = True
    of: str = "records"

    def __post_init__(self) -> None:
        if not (self.noise_multiplier > 0 or (self.noise_multiplier == 0 and not self.accounted)):
            raise BadConfig(
                f"noise_multiplier={self.noise_multiplier:g}: must be positive if the release is accounted for"
            )
        check_choice(self, "noise_by", NOISE_BY)
        check_choice(self, "of", OF)


Entries = tuple[tuple[Event, int], ...]


class Ledger:
    """Events and how often each took place; its size does not grow with the number of equal releases.

    `num_releases` counts calls at the door and numbers their random streams, so that no noise is ever used twice.
    """

    def __init__(self) -> None:
        self.num_releases = 0
        self._counts: dict[Event, int] = {}

    def write(self, events: Iterable[Event]) -> None:
        """Enter the events of one call at the door."""
        self.num_releases += 1
        for event in events:
            self._counts[event] = self._counts.get(event, 0) + 1

    @property
    def entries(self) -> Entries:
        return tuple(sorted(self._counts.items(), key=repr))

    def to_tensor(self) -> Tensor:
        """Bytes of JSON, to stand beside the tensors of a checkpoint or a shard."""
        events = [
            {**asdict(event), "kind": type(event.sampling).__name__, "count": count} for event, count in self.entries
        ]
        text = json.dumps({"releases": self.num_releases, "events": events}, sort_keys=True)
        return torch.from_numpy(np.frombuffer(text.encode(), dtype=np.uint8).copy())

    @staticmethod
    def from_tensor(stored: Tensor) -> "Ledger":
        ledger = Ledger()
        try:
            record = json.loads(stored.cpu().numpy().tobytes())
            ledger.num_releases = record["releases"]
            for entry in record["events"]:
                sampling = {"Poisson": Poisson, "FixedSize": FixedSize}[entry["kind"]](**entry["sampling"])
                plain = {name: entry[name] for name in ("group", "noise_multiplier", "noise_by", "accounted", "of")}
                ledger._counts[Event(sampling=sampling, **plain)] = entry["count"]
        except (KeyError, TypeError, ValueError) as error:
            raise BadData(f"not a ledger ({type(error).__name__}: {error})") from None
        return ledger
