"""The adversary of the transcript: it chooses the neighbouring pools and listens at the door.

Neighbouring pools differ in one record, the canary; a run has it or not. The adversary knows everything public, so it
turns the canary into its clipped vector by the very functions that the method gave to the door (with the network of
each run, where a run has its own: that is a function of earlier releases), and scores what it hears.

Designs, who is a member besides the canary:
- "alone": nobody. The releases of a run without the canary are pure noise.
- "opposed": one record of the opposite direction and half the length, both far longer than any clipping norm. Whoever
  clips the sum instead of the records lets the canary turn it round.
- "ordinary": a few records with small pixels in every class, whose vectors are short beside the canary's where the
  clipping norm leaves room. Whoever scales the noise by the records lets the canary change it.
- "replaced": nobody, and where the canary is not, its antipode is: minus the canary, of another class. For samples of
  fixed size only, whose guarantee speaks of replacing a record.

Scores (higher: the canary was in). A sound mechanism leaves none of them below its curve.
- "likelihood": the sum of the log-likelihood ratios of all releases under the mechanism that is claimed. With the
  canary alone, of length c in a release, a Poisson sample at rate q gives (1 − q) N(0, s²) + q N(c, s²) against
  N(0, s²), and that pair dominates every other (Mironov, Talwar, Zhang, arXiv:1908.10530; Zhu, Dong, Wang,
  arXiv:2106.08567).
- "spread": the largest minus the smallest projection over the steps, which noise used twice cannot hide.
- "reference": the largest gap to a run known to have no records, which noise shared by runs cannot hide.
- "energy": the largest squared length of a release at right angles to the canary, in units of the claimed noise. The
  canary adds nothing there, unless it changes the noise.
- "seed search", where the noise comes from one of few seeds (reseeded.py): in how many releases the canary and
  one of the seeds explain what was heard.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from audit.games.transcript.reseeded import explained_by_a_seed
from condensers.ledger import EVERYBODY, Entries, FixedSize
from condensers.mechanism import Release, Request, clip_vectors, sensitivity
from condensers.pool import Pool
from condensers.randomness import stream

DESIGNS: dict[str, tuple[str, ...]] = {
    "alone": ("likelihood", "spread", "reference", "energy"),
    "opposed": ("likelihood",),
    "ordinary": ("energy",),
    "replaced": ("likelihood",),
}
SCORES = ("likelihood", "spread", "reference", "energy", "seed search")  # in the order of reports
# Pixels of a canary, one of which the adversary chooses by trial runs. Far outside [−1, 1]: an unclipped canary must
# show. Small: no network is sure of its class, so that the gradient of its loss is never short.
LENGTHS = (100.0, 0.1)
ORDINARY = 0.1  # pixels of ordinary records are uniform in ± this
NUM_ORDINARY = 6  # in each class: an empty sample is then rare at the rates that are audited
CANARY, OPPONENT, ANTIPODE, FIRST_ORDINARY = 0, 1, 2, 3  # places of a class
PLACES = FIRST_ORDINARY + NUM_ORDINARY


def designs_for(entries: Entries) -> tuple[str, ...]:
    """The designs that are neighbours under the relation of these events."""
    replacing = any(isinstance(event.sampling, FixedSize) for event, _ in entries)
    return tuple(design for design in DESIGNS if replacing or design != "replaced")


def headline_design(designs: tuple[str, ...]) -> str:
    """Whose likelihood ratio the bounds are from: the worst pair of neighbours there is."""
    return "replaced" if "replaced" in designs else "alone"


def neighbouring_pools(input_shape: tuple[int, ...], num_classes: int, seed: int, length: float = LENGTHS[0]) -> Pool:
    """All that any design needs: for each class a canary, a pattern of ±1 times `length`, and the other places."""
    generator = stream(seed, "canaries")
    signs = generator.choice(np.array([-1.0, 1.0], dtype=np.float32), (num_classes, *input_shape))
    ordinary = ORDINARY * generator.uniform(-1, 1, (num_classes, NUM_ORDINARY, *input_shape)).astype(np.float32)
    canaries = length * signs[:, None]
    antipodes = -np.roll(canaries, 1, axis=0)  # of the canary of the class before
    images = np.concatenate([canaries, -canaries / 2, antipodes, ordinary], axis=1)
    return Pool(
        name="neighbouring pools",
        images=torch.from_numpy(images).flatten(0, 1),
        labels=torch.arange(num_classes).repeat_interleave(PLACES),
        num_classes=num_classes,
    )


@dataclass(frozen=True, kw_only=True)
class Trials:
    """Runs of one design: run `r` is about the canary of class `labels[r]`; the last run has no records at all."""

    design: str
    labels: np.ndarray
    has_canary: np.ndarray
    num_classes: int

    @property
    def canaries(self) -> np.ndarray:
        """The record of every run's canary."""
        return self.labels * PLACES + CANARY

    @property
    def others(self) -> np.ndarray | None:
        """The record that the likelihood must reckon with besides, where there is one."""
        match self.design:
            case "opposed":
                return self.labels * PLACES + OPPONENT
            case "replaced":
                return (self.labels + 1) % self.num_classes * PLACES + ANTIPODE
        return None

    def members(self, pool: Pool) -> Tensor:
        """Who is in: bool `[runs + 1, records]`."""
        included = np.zeros((len(self.labels) + 1, pool.num_records), dtype=bool)
        rows = np.arange(len(self.labels))
        included[rows, self.canaries] = self.has_canary
        if self.others is not None:
            included[rows, self.others] = True if self.design == "opposed" else ~self.has_canary
        if self.design == "ordinary":
            included[:-1, np.arange(pool.num_records) % PLACES >= FIRST_ORDINARY] = True
        return torch.from_numpy(included)


def make_trials(design: str, first: int, num_runs: int, num_classes: int) -> Trials:
    """Runs take turns over the classes, and with and without the canary."""
    numbers = np.arange(first, first + num_runs)
    return Trials(
        design=design, labels=numbers // 2 % num_classes, has_canary=numbers % 2 == 0, num_classes=num_classes
    )


class Eavesdropper:
    """A listener that scores the runs of one group; its memory does not grow with the number of releases."""

    def __init__(self, pool: Pool, trials: Trials) -> None:
        self._pool, self._trials = pool, trials
        runs = len(trials.labels)
        self.likelihood, self._gap, self._energy = np.zeros(runs), np.zeros(runs), np.zeros(runs)
        self._low, self._high = np.full(runs, np.inf), np.full(runs, -np.inf)
        self._found: np.ndarray | None = None
        self.shortest = np.inf  # of the canary's clipped vectors, in clipping norms
        self._squares: list[float] = []

    @property
    def typical(self) -> float:
        """Root mean square of the canary's clipped vectors, in clipping norms."""
        return float(np.sqrt(np.mean(self._squares)))

    def __call__(self, release: Release) -> None:
        for position, request in enumerate(release.requests):
            rows = np.arange(len(self._trials.labels))
            if request.group is not EVERYBODY:
                rows = np.flatnonzero(self._trials.labels == request.group)
            if len(rows):
                self._hear(release, request, position, rows)

    def _hear(self, release: Release, request: Request, position: int, rows: np.ndarray) -> None:
        """In units of the clipping norm."""
        sums = release.sums[:, position].double() / release.clip
        heard, known = sums[rows], sums[-1]
        canary = self._vectors(release, request, self._trials.canaries, rows)
        length = torch.linalg.vector_norm(canary, dim=-1)
        direction = canary / length.clamp(min=1e-30).unsqueeze(-1)
        along = (heard * direction).sum(-1)
        noise = release.noise_multiplier * sensitivity(request.sampling)
        beside = (heard.square().sum(-1) - along.square()).clamp(min=0.0) / noise**2
        self.shortest = min(self.shortest, float(length.min()))
        self._squares.append(float(length.square().mean()))
        others = self._trials.others
        other = None if others is None else self._vectors(release, request, others, rows)
        ratio = log_likelihood_ratio(
            heard, canary, other, rate=request.sampling.rate, noise=noise, replaced=self._trials.design == "replaced"
        )
        projections = along.cpu().numpy()
        self.likelihood[rows] += ratio.cpu().numpy()
        self._low[rows] = np.minimum(self._low[rows], projections)
        self._high[rows] = np.maximum(self._high[rows], projections)
        self._gap[rows] = np.maximum(self._gap[rows], (along - direction @ known).abs().cpu().numpy())
        self._energy[rows] = np.maximum(self._energy[rows], beside.cpu().numpy())
        if release.noise_seeds is not None:
            found = explained_by_a_seed(heard.cpu().numpy(), canary.cpu().numpy(), noise, release.noise_seeds)
            self._found = np.zeros(len(self.likelihood)) if self._found is None else self._found
            self._found[rows] += found

    def _vectors(self, release: Release, request: Request, records: np.ndarray, rows: np.ndarray) -> Tensor:
        """Clipped vectors `[rows, dim]` of the record that each run is about, by its own network where it has one."""
        if release.per_run:
            where = torch.from_numpy(np.append(records, records[0])).unsqueeze(1)  # the last run is nobody's
            vectors = request.vectors(self._pool.images[where], self._pool.labels[where])[rows, 0]
        else:
            distinct, places = np.unique(records[rows], return_inverse=True)
            vectors = request.vectors(self._pool.images[distinct], self._pool.labels[distinct])[places]
        return clip_vectors(vectors, release.clip).double() / release.clip

    def scores(self) -> dict[str, np.ndarray]:
        """By name; those that the design is for."""
        found = {
            "likelihood": self.likelihood,
            "spread": self._high - self._low,
            "reference": self._gap,
            "energy": self._energy,
        }
        scores = {name: found[name] for name in DESIGNS[self._trials.design]}
        return scores if self._found is None else {**scores, "seed search": self._found}


def log_likelihood_ratio(
    heard: Tensor, canary: Tensor, other: Tensor | None, *, rate: float, noise: float, replaced: bool = False
) -> Tensor:
    """ln p(heard | canary in) − ln p(heard | not), every record in a sample with probability `rate`.

    `other` is a record that is in either way or, where it is `replaced`, in the canary's place.
    """

    def shifted(by: Tensor) -> Tensor:
        """ln of N(by, noise²) over N(0, noise²), at what was heard."""
        return ((heard * by).sum(-1) - by.square().sum(-1) / 2) / noise**2

    none = torch.zeros_like(heard[:, 0])
    if other is None:
        return _mixed(rate, none, shifted(canary))
    if replaced:
        return _mixed(rate, none, shifted(canary)) - _mixed(rate, none, shifted(other))
    without = _mixed(rate, none, shifted(other))
    return _mixed(rate, without, _mixed(rate, shifted(canary), shifted(canary + other))) - without


def _mixed(rate: float, absent: Tensor, present: Tensor) -> Tensor:
    """ln((1 − rate) e^absent + rate e^present)."""
    rates = torch.tensor([1 - rate, rate], dtype=torch.float64, device=absent.device).log()
    return torch.logaddexp(rates[0] + absent, rates[1] + present)
