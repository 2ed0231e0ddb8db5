"""The adversary of the transcript: it chooses the neighbouring pools (neighbours.py) and listens at the door.

It knows everything public, so it turns the canary into its clipped vector by the very functions that the method gave
to the door (with the network of each run, where a run has its own: that is a function of earlier releases), and scores
what it hears.

Scores (higher: the canary was in). A sound mechanism leaves none of them below its curve.
- "likelihood": the sum of the log-likelihood ratios of all releases under the mechanism that is claimed. With the
  canary alone, of length c in a release, a Poisson sample at rate q gives (1 − q) N(0, s²) + q N(c, s²) against
  N(0, s²), and that pair dominates every other (Mironov, Talwar, Zhang, arXiv:1908.10530; Zhu, Dong, Wang,
  arXiv:2106.08567).
- "spread": the largest minus the smallest projection over the steps, which noise used twice cannot hide.
- "reference": the largest gap to a run known to have no records, which noise shared by runs cannot hide.
- "energy": the largest squared length of a release at right angles to the canary, in units of the claimed noise. The
  canary adds nothing there, unless it changes the noise.
- "size", where a published fault tells the sizes of samples: their sum.
- "seed search", where the noise comes from one of few seeds (reseeded.py): in how many releases the canary and
  one of the seeds explain what was heard.
"""

import numpy as np
import torch
from torch import Tensor

from audit.games.neighbours import DESIGNS, Trials
from audit.games.transcript.reseeded import explained_by_a_seed
from audit.games.transcript.whole_samples import WholeSamples
from condensers.ledger import EVERYBODY
from condensers.mechanism import Release, Request
from condensers.pool import Pool
from condensers.samples import BatchRequest, ShardRequest, clip_vectors


class Eavesdropper:
    """A listener that scores the runs of one group; its memory does not grow with the number of releases.

    The last row of a release is a run without records; where runs are made one by one, `reference` are the releases of
    such a run, in turn, and every row is about a canary.
    """

    def __init__(self, pool: Pool, trials: Trials, reference: list[Tensor] | None = None) -> None:
        self._pool, self._trials, self._reference = pool, trials, reference
        runs = len(trials.labels)
        self.likelihood, self._gap, self._energy = np.zeros(runs), np.zeros(runs), np.zeros(runs)
        self._low, self._high = np.full(runs, np.inf), np.full(runs, -np.inf)
        self._found: np.ndarray | None = None
        self._sizes: np.ndarray | None = None
        self.whole = WholeSamples(pool, trials.canaries, alone=reference is not None)
        self.shortest = np.inf  # of the canary's clipped vectors, in clipping norms (of a whole sample: of what it may)
        self._squares: list[float] = []

    @property
    def typical(self) -> float:
        """Root mean square of the canary's clipped vectors, in clipping norms."""
        return float(np.sqrt(np.mean(self._squares))) if self._squares else 0.0

    def __call__(self, release: Release) -> None:
        for position, request in enumerate(release.requests):
            rows = np.arange(len(self._trials.labels))
            if request.group is not EVERYBODY:
                rows = np.flatnonzero(self._trials.labels == request.group)
            if len(rows):
                self._hear(release, request, position, rows)

    def _hear(
        self, release: Release, request: Request | BatchRequest | ShardRequest, position: int, rows: np.ndarray
    ) -> None:
        """In units of the clipping norm."""
        sums = release.sums[:, position].double() / release.clip
        nobody = None if self._reference is None else self._reference[min(release.index, len(self._reference) - 1)]
        known = sums[-1] if nobody is None else nobody[0, position].double() / release.clip
        others, other, full = self._trials.others, None, 1.0
        if isinstance(request, Request):
            heard, canary = sums[rows], self.vectors(release, request, self._trials.canaries, rows)
            other = None if others is None else self.vectors(release, request, others, rows)
        else:
            without, present = self.whole.expect(release, request)
            heard, canary, full = (sums - without)[rows], (present - without)[rows], request.sensitivity
            known = known - without[-1]
        length = torch.linalg.vector_norm(canary, dim=-1)
        direction = canary / length.clamp(min=1e-30).unsqueeze(-1)
        along = (heard * direction).sum(-1)
        noise = release.noise_multiplier * (2.0 if release.apart else request.sensitivity)
        beside = (heard.square().sum(-1) - along.square()).clamp(min=0.0) / noise**2
        self.shortest = min(self.shortest, float(length.min()) / full)
        self._squares.append(float(length.square().mean()) / full**2)
        ratio = log_likelihood_ratio(
            heard, canary, other, rate=request.sampling.rate, noise=noise, replaced=self._trials.design == "replaced"
        )
        projections = along.cpu().numpy()
        self.likelihood[rows] += ratio.cpu().numpy()
        self._low[rows] = np.minimum(self._low[rows], projections)
        self._high[rows] = np.maximum(self._high[rows], projections)
        self._gap[rows] = np.maximum(self._gap[rows], (along - direction @ known).abs().cpu().numpy())
        self._energy[rows] = np.maximum(self._energy[rows], beside.cpu().numpy())
        if release.sizes is not None:
            self._sizes = np.zeros(len(self.likelihood)) if self._sizes is None else self._sizes
            self._sizes[rows] += release.sizes.cpu().numpy()[rows]
        if release.noise_seeds is not None:
            found = explained_by_a_seed(heard.cpu().numpy(), canary.cpu().numpy(), noise, release.noise_seeds)
            self._found = np.zeros(len(self.likelihood)) if self._found is None else self._found
            self._found[rows] += found

    def vectors(self, release: Release, request: Request, records: np.ndarray, rows: np.ndarray) -> Tensor:
        """Clipped vectors `[rows, dim]` of the record that each run is about, by its own network where it has one."""
        if release.per_run:
            nobody = [] if self._reference is not None else [records[0]]  # the last run is nobody's
            where = torch.from_numpy(np.append(records, nobody).astype(np.int64)).unsqueeze(1)
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
        beside = {"size": self._sizes, "seed search": self._found}
        return scores | {name: value for name, value in beside.items() if value is not None}


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
