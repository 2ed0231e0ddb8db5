"""Neighbouring pools that the adversary chose: they differ in one record, the canary; a run has it or not.

Designs, who is a member besides the canary:
- "alone": nobody. The releases of a run without the canary are pure noise.
- "opposed": one record of the opposite direction and half the length, both far longer than any clipping norm. Whoever
  clips the sum instead of the records lets the canary turn it round.
- "ordinary": a few records with small pixels in every class, whose vectors are short beside the canary's where the
  clipping norm leaves room. Whoever scales the noise by the records lets the canary change it.
- "replaced": nobody, and where the canary is not, its antipode is: minus the canary, of another class. For samples of
  fixed size only, whose guarantee speaks of replacing a record.
- "identical": a few copies of one record in every class; the canary is one bright surface. Without the canary a class
  has no variance at all.
- "blank": a few ordinary records in every class; the canary is a record of zeros, which adds nothing but itself.
- "natural": records of a data set in every class; the canary is the crafted pattern.

Records lie in [−1, 1] where a method has no door, as every pool does; behind a door, which clips, the adversary may
take pixels of any size.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from condensers.ledger import Entries, FixedSize
from condensers.pool import Pool
from condensers.randomness import stream

# Scores that are written down beforehand, by design; the learned scores (learned.py) are tried in all of them.
DESIGNS: dict[str, tuple[str, ...]] = {
    "alone": ("likelihood", "spread", "reference", "energy"),
    "opposed": ("likelihood",),
    "ordinary": ("energy",),
    "replaced": ("likelihood",),
    "identical": (),
    "blank": (),
    "natural": (),
}
SCORES = ("likelihood", "spread", "reference", "energy", "size", "seed search")  # in the order of reports
# Pixels of a canary, one of which the adversary chooses by trial runs. Far outside [−1, 1]: an unclipped canary must
# show. Small: no network is sure of its class, so that the gradient of its loss is never short.
LENGTHS = (100.0, 0.1)
IN_THE_DOMAIN = 1.0  # of a canary where no door clips: the longest record that a pool may hold
ORDINARY = 0.1  # pixels of ordinary records are uniform in ± this
NUM_ORDINARY = 6  # in each class: an empty sample is then rare at the rates that are audited
CANARY, OPPONENT, ANTIPODE, FIRST_ORDINARY = 0, 1, 2, 3  # places of a class
PLACES = FIRST_ORDINARY + NUM_ORDINARY


def designs_for(entries: Entries) -> tuple[str, ...]:
    """The designs that are neighbours under the relation of these events."""
    if any(event.of != "records" for event, _ in entries):
        return ("alone",)  # with others beside it, what a release is about without the canary is not known in advance
    replacing = any(isinstance(event.sampling, FixedSize) for event, _ in entries)
    return tuple(design for design in DESIGNS if replacing or design != "replaced")


def headline_design(designs: tuple[str, ...]) -> str:
    """Whose likelihood ratio the bounds are from: the worst pair of neighbours there is."""
    return "replaced" if "replaced" in designs else designs[0]


def neighbouring_pools(
    input_shape: tuple[int, ...],
    num_classes: int,
    seed: int,
    length: float = LENGTHS[0],
    design: str = "alone",
    natural: Tensor | None = None,
) -> Pool:
    """All that a design needs: for each class a canary, a pattern of ±1 times `length`, and the other places.

    `natural` are records `[classes, number, …]` for the design of that name.
    """
    generator = stream(seed, "canaries")
    signs = generator.choice(np.array([-1.0, 1.0], dtype=np.float32), (num_classes, *input_shape))
    others = ORDINARY * generator.uniform(-1, 1, (num_classes, NUM_ORDINARY, *input_shape)).astype(np.float32)
    canaries = length * signs[:, None]
    match design:
        case "identical":
            canaries = np.full_like(canaries, length)
            others = np.repeat(others[:, :1], NUM_ORDINARY, axis=1)
        case "blank":
            canaries = np.zeros_like(canaries)
        case "natural" if natural is not None:
            others = natural.numpy()
    antipodes = -np.roll(canaries, 1, axis=0)  # of the canary of the class before
    images = np.concatenate([canaries, -canaries / 2, antipodes, others], axis=1)
    return Pool(
        name="neighbouring pools",
        images=torch.from_numpy(images).flatten(0, 1),
        labels=torch.arange(num_classes).repeat_interleave(images.shape[1]),
        num_classes=num_classes,
    )


@dataclass(frozen=True, kw_only=True)
class Trials:
    """Runs of one design: run `r` is about the canary of class `labels[r]`; the last run has no records at all."""

    design: str
    labels: np.ndarray
    has_canary: np.ndarray
    num_classes: int
    places: int = PLACES  # of each class

    def only(self, rows: list[int]) -> "Trials":
        """Some of the runs."""
        return replace(self, labels=self.labels[rows], has_canary=self.has_canary[rows])

    @property
    def canaries(self) -> np.ndarray:
        """The record of every run's canary."""
        return self.labels * self.places + CANARY

    @property
    def others(self) -> np.ndarray | None:
        """The record that the likelihood must reckon with besides, where there is one."""
        match self.design:
            case "opposed":
                return self.labels * self.places + OPPONENT
            case "replaced":
                return (self.labels + 1) % self.num_classes * self.places + ANTIPODE
        return None

    def members(self, pool: Pool) -> Tensor:
        """Who is in: bool `[runs + 1, records]`."""
        included = np.zeros((len(self.labels) + 1, pool.num_records), dtype=bool)
        rows = np.arange(len(self.labels))
        included[rows, self.canaries] = self.has_canary
        if self.others is not None:
            included[rows, self.others] = True if self.design == "opposed" else ~self.has_canary
        if self.design in ("ordinary", "identical", "blank", "natural"):
            included[:-1, np.arange(pool.num_records) % self.places >= FIRST_ORDINARY] = True
        return torch.from_numpy(included)


def make_trials(design: str, first: int, num_runs: int, num_classes: int, places: int = PLACES) -> Trials:
    """Runs take turns over the classes, and with and without the canary."""
    numbers = np.arange(first, first + num_runs)
    return Trials(
        design=design,
        labels=numbers // 2 % num_classes,
        has_canary=numbers % 2 == 0,
        num_classes=num_classes,
        places=places,
    )
