"""The adversary of the transcript: it chooses the neighbouring pools and listens at the door.

Neighbouring pools differ in one record, the canary; a run has it or not. The adversary knows everything public, so it
turns the canary into its clipped vector by the very functions that the method gave to the door, and scores what it
hears by the likelihood ratio of the mechanism that is claimed: along the canary's direction, of length c in a release,
a Poisson sample at rate q gives (1 − q) N(0, s²) + q N(c, s²) with the canary and N(0, s²) without it, and that pair
dominates every other (Mironov, Talwar, Zhang, arXiv:1908.10530; Zhu, Dong, Wang, arXiv:2106.08567).

Designs, which of the canary's class are members besides it:
- "alone": nobody. The releases of a run without the canary are pure noise.
- "opposed": one record of the opposite direction and half the length, both far longer than any clipping norm. Whoever
  clips the sum instead of the records lets the canary turn it round.

Scores (higher: the canary was in). A sound mechanism leaves none of them below its curve.
- "likelihood": the sum of the log-likelihood ratios of all releases.
- "spread": the largest minus the smallest projection over the steps, which noise used twice cannot hide.
- "reference": the largest gap to a run known to have no records, which noise shared by runs cannot hide.
- "seed search", where the noise comes from one of few seeds (audit/reseeded.py): in how many releases the canary and
  one of the seeds explain what was heard.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from audit.reseeded import explained_by_a_seed
from condensers.errors import BadConfig
from condensers.ledger import EVERYBODY, Poisson
from condensers.mechanism import Release, Request, clip_vectors
from condensers.pool import Pool
from condensers.randomness import stream

DESIGNS: dict[str, tuple[str, ...]] = {
    "alone": ("likelihood", "spread", "reference"),
    "opposed": ("likelihood",),
}
LENGTH = 100.0  # of the canary's pixels, far outside [−1, 1]: an unclipped canary must show


def neighbouring_pools(input_shape: tuple[int, ...], num_classes: int, seed: int) -> Pool:
    """Two records for each class: the canary, a pattern of ±1 times `LENGTH`, and minus half of it."""
    signs = stream(seed, "canaries").choice(np.array([-1.0, 1.0], dtype=np.float32), (num_classes, *input_shape))
    canaries = torch.from_numpy(signs) * LENGTH
    images = torch.stack([canaries, -canaries / 2], 1).flatten(0, 1)
    return Pool(
        name="neighbouring pools",
        images=images,
        labels=torch.arange(num_classes).repeat_interleave(2),
        num_classes=num_classes,
    )


@dataclass(frozen=True, kw_only=True)
class Trials:
    """Runs of one design: run `r` is about the canary of class `labels[r]`; the last run has no records at all."""

    design: str
    labels: np.ndarray
    has_canary: np.ndarray

    def members(self, pool: Pool) -> Tensor:
        """Who is in: bool `[runs + 1, records]`."""
        included = np.zeros((len(self.labels) + 1, pool.num_records), dtype=bool)
        rows = np.arange(len(self.labels))
        included[rows, 2 * self.labels] = self.has_canary
        included[rows, 2 * self.labels + 1] = self.design == "opposed"
        return torch.from_numpy(included)


def make_trials(design: str, first: int, num_runs: int, num_classes: int) -> Trials:
    """Runs take turns over the classes, and with and without the canary."""
    numbers = np.arange(first, first + num_runs)
    return Trials(design=design, labels=numbers // 2 % num_classes, has_canary=numbers % 2 == 0)


class Eavesdropper:
    """A listener that scores the runs of one group; its memory does not grow with the number of releases."""

    def __init__(self, pool: Pool, trials: Trials) -> None:
        self._pool, self._trials = pool, trials
        runs = len(trials.labels)
        self.likelihood = np.zeros(runs)
        self._low, self._high, self._gap = np.full(runs, np.inf), np.full(runs, -np.inf), np.zeros(runs)
        self._found: np.ndarray | None = None
        self.shortest = np.inf  # of the canary's clipped vectors, in clipping norms

    def __call__(self, release: Release) -> None:
        for position, request in enumerate(release.requests):
            labels = range(self._pool.num_classes) if request.group is EVERYBODY else (request.group,)
            for label in labels:
                self._hear(release, request, position, int(label))

    def _hear(self, release: Release, request: Request, position: int, label: int) -> None:
        rows = np.flatnonzero(self._trials.labels == label)
        if not len(rows):
            return
        sums = release.sums[:, position].double()
        canary, opponent = (
            clip_vectors(self._vectors(release, request, record), release.clip).double()
            for record in (2 * label, 2 * label + 1)
        )
        length = torch.linalg.vector_norm(canary, dim=-1)
        direction = canary / length.clamp(min=1e-30).unsqueeze(-1)
        self.shortest = min(self.shortest, float(length.min()) / release.clip)
        # `[runs]`, in units of the clipping norm
        heard, reach, pull = (
            ((values / release.clip).expand(len(sums)).cpu().numpy()[rows])
            for values in ((sums * direction).sum(-1), length, (opponent * direction).sum(-1))
        )
        known = float((sums[-1] * direction[-1]).sum()) / release.clip
        if self._trials.design == "alone":
            pull = np.zeros_like(pull)
        self.likelihood[rows] += log_likelihood_ratio(heard, reach, pull, request.sampling, release.noise_multiplier)
        if release.noise_seeds is not None:
            scale = release.noise_multiplier * release.clip
            found = explained_by_a_seed(
                sums.cpu().numpy()[rows],
                canary.expand_as(sums).cpu().numpy()[rows],
                scale,
                release.noise_seeds,
            )
            self._found = np.zeros(len(self.likelihood)) if self._found is None else self._found
            self._found[rows] += found
        self._low[rows] = np.minimum(self._low[rows], heard)
        self._high[rows] = np.maximum(self._high[rows], heard)
        self._gap[rows] = np.maximum(self._gap[rows], np.abs(heard - known))

    def _vectors(self, release: Release, request: Request, record: int) -> Tensor:
        """The record's vector, `[1, dim]`, or `[runs, dim]` where every run has a network of its own."""
        image, label = self._pool.images[record : record + 1], self._pool.labels[record : record + 1]
        if not release.per_run:
            return request.vectors(image, label)
        runs = len(release.sums)
        return request.vectors(image.expand(runs, *image.shape), label.expand(runs, 1))[:, 0]

    def scores(self) -> dict[str, np.ndarray]:
        """By name; those that the design is for."""
        found = {"likelihood": self.likelihood, "spread": self._high - self._low, "reference": self._gap}
        scores = {name: found[name] for name in DESIGNS[self._trials.design]}
        return scores if self._found is None else {**scores, "seed search": self._found}


def log_likelihood_ratio(
    heard: np.ndarray, reach: np.ndarray, pull: np.ndarray, sampling: object, noise_multiplier: float
) -> np.ndarray:
    """ln p(heard | canary in) − ln p(heard | not), if a record with projection `pull` is in either way."""
    if not isinstance(sampling, Poisson):
        raise BadConfig("worst-case: neighbours that differ by a replacement (fixed-size samples) are not audited here")
    rate = sampling.rate

    def log_density(shift: np.ndarray) -> np.ndarray:
        return -((heard - shift) ** 2) / (2 * noise_multiplier**2)

    with np.errstate(divide="ignore"):
        absent, present = np.log1p(-rate), np.log(rate)
    without = np.logaddexp(absent + log_density(np.zeros_like(pull)), present + log_density(pull))
    shifted = np.logaddexp(absent + log_density(reach), present + log_density(pull + reach))
    return np.logaddexp(absent + without, present + shifted) - without
