"""The theory of Dong, Zhao and Lyu (arXiv:2206.00240, section 4, Appendices A–D), run on the condenser itself.

One class at a time, T its records and S its synthetic images; without augmentation, with all of T at every step, as the
paper assumes. Nothing is reimplemented: `condense_dm` runs, and its loop is watched from the `track` that it is handed.

- Proposition 4.3: the barycentres of S and T coincide for linear extractors; Figure 7 shows how fast, for others too.
- Proposition 4.4: S* = S₀ + (T̄ − S̄₀), Eq. (12) and the general form (31) of (13), which assumes S̄₀ = 0.
- Eq. (35): leaving out x moves every image by ‖x − mean(T∖x)‖/|T| ≤ 2B/|T|. It is proved for linear extractors.
- What (35) does not say: the synthetic set still holds T̄, so whoever knows the other records solves it for x.
- Eq. (33) adds K_S′ − K_S where ln K_S′ − ln K_S belongs, and (17) bounds a KL divergence, a mean and no worst case:
  `gibbs_counterexample`.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from condensers.dm import DmConfig, condense_dm
from condensers.errors import BadConfig
from condensers.initial import INITS
from condensers.pool import Pool
from condensers.randomness import Randomness, stream
from condensers.registry import untracked

EXTRACTORS = ("linear", "linear-relu", "convnet")
LEFT_OUT = ("farthest", "typical")
# Learning rate per image of a class: the gradient at each of them is 1/ipc of the barycentre's.
RATE = {"linear": 0.1, "linear-relu": 0.1, "convnet": 1.0}
WIDTH = {"linear": 1024, "linear-relu": 1024, "convnet": 32}
MOST_IMAGES_SHOWN = 4


@dataclass(frozen=True, kw_only=True)
class TheoryConfig:
    """What determines the result, beside the pool. Every run condenses the whole pool but for what is left out."""

    ipcs: tuple[int, ...] = (2, 4)
    iterations: int = 150
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.ipcs or min(self.ipcs) < 1:
            raise BadConfig(f"--ipc {', '.join(map(str, self.ipcs))}: at least 1 image per class is needed")
        if self.iterations < 1:
            raise BadConfig(f"--iterations {self.iterations}: must be at least 1")


@dataclass(frozen=True, kw_only=True)
class LeaveOneOut:
    """Means over classes, except `worst_ratio`: the largest ‖s′ − s‖ over the bound 2B/|T| of its class."""

    left_out: str
    largest_shift: float
    closed_form: float
    bound: float
    worst_ratio: float
    recovery_error: float


@dataclass(frozen=True, kw_only=True)
class Condensation:
    """One way to condense: distances are ‖T̄ − S̄‖, means over classes, at the start and after every step.

    `closed_form_error` is max ‖s* − (s₀ + T̄ − S̄₀)‖ over max ‖s*‖; `eq13_error` the same for Eq. (13) as printed, which
    leaves S̄₀ out.
    """

    extractor: str
    init: str
    ipc: int
    distances: tuple[float, ...]
    closed_form_error: float
    eq13_error: float
    leave_one_out: tuple[LeaveOneOut, ...]
    images: np.ndarray = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class GibbsCounterexample:
    """sup ln(p/q) of two Gibbs posteriors against the right side of (33), and against the bound that holds."""

    num_images: int
    shift: float
    sup_log_ratio: float
    right_side_of_eq33: float
    corrected_bound: float
    kl_divergence: float


@dataclass(frozen=True, kw_only=True)
class TheoryReport:
    """Everything that `audit theory` prints and draws. Assumption 4.1 holds where every rank is below `dimension`."""

    dataset: str
    config: TheoryConfig
    class_size: float
    dimension: int
    ranks: tuple[int, ...]
    condensations: tuple[Condensation, ...]
    gibbs: GibbsCounterexample
    notes: tuple[str, ...]


NOTES = (
    "(35) bounds how far one record moves the images; it is proved for linear extractors only, and ratios above 1 for "
    "the others refute nothing that was proved",
    "(33) adds K_S' - K_S where ln K_S' - ln K_S belongs; corrected, |ln p/q| <= 2 L sum |s'_i - s_i| <= 4 L B |S|/|T|",
    "(17) bounds a KL divergence: a mean over models, no worst case, hence no epsilon of differential privacy",
    "both speak of a model drawn from the Gibbs posterior of Assumption 4.8; S itself is a function of T, and a linear "
    "extractor's gives the record away to whoever knows the others (column recovery)",
)


def examine(pool: Pool, config: TheoryConfig, say: Callable[[str], object] = str) -> TheoryReport:
    """Condense with every extractor, from noise and from records, with and without single records."""
    smallest = min(part.stop - part.start for part in pool.class_slices)
    needed = max(config.ipcs) + len(LEFT_OUT)
    if smallest < needed:
        raise BadConfig(f"--ipc {max(config.ipcs)}: needs {needed} records of every class, the smallest has {smallest}")
    extractors = EXTRACTORS if pool.images.ndim == 4 else EXTRACTORS[:2]
    found: list[Condensation] = []
    for extractor in extractors:
        for ipc in config.ipcs:
            found += _condense(pool, extractor, ipc, config)
            say(f"{extractor}, {ipc} images per class: done")
    flat = pool.images.double().flatten(1)
    return TheoryReport(
        dataset=pool.name,
        config=config,
        class_size=pool.num_records / pool.num_classes,
        dimension=flat.shape[1],
        ranks=tuple(int(torch.linalg.matrix_rank(flat[part])) for part in pool.class_slices),
        condensations=tuple(found),
        gibbs=gibbs_counterexample(num_images=20, shift=0.002),
        notes=NOTES,
    )


def _condense(pool: Pool, extractor: str, ipc: int, config: TheoryConfig) -> list[Condensation]:
    """Six runs in one batch: from noise and from records, each with all of T, without the farthest, without another."""
    without = {name: _record_to_leave_out(pool, name, config.seed) for name in LEFT_OUT}
    starts = {init: _start(pool, ipc, init, list(without.values()), config.seed) for init in INITS}
    memberships = [torch.ones(pool.num_records, dtype=torch.bool)]
    for records in without.values():
        row = torch.ones(pool.num_records, dtype=torch.bool)
        row[records] = False
        memberships.append(row)
    included = torch.stack(memberships * len(INITS))
    first = torch.cat([starts[init].expand(len(memberships), *starts[init].shape) for init in INITS])
    settings = DmConfig(
        ipc=ipc, iterations=config.iterations, batch=pool.num_records, learning_rate=RATE[extractor] * ipc,
        extractor=extractor, width=WIDTH[extractor], depth=2, augmentation="none",
    )  # fmt: skip
    last, distances = watch_dm(pool, included, settings, first, config.seed)
    found = []
    for position, init in enumerate(INITS):
        runs = slice(position * len(memberships), (position + 1) * len(memberships))
        mine = [_by_class(images, pool) for images in last[runs]]
        start, means = _by_class(starts[init], pool), class_means(pool, memberships[0])
        shift = (means - start.mean(1)).unsqueeze(1)
        scale = mine[0].norm(dim=-1).max()
        found.append(
            Condensation(
                extractor=extractor,
                init=init,
                ipc=ipc,
                distances=tuple(distances[runs.start].tolist()),
                closed_form_error=float((mine[0] - (start + shift)).norm(dim=-1).max() / scale),  # Eqs. (12) and (31)
                eq13_error=float((mine[0] - (start + means.unsqueeze(1))).norm(dim=-1).max() / scale),  # Eq. (13)
                leave_one_out=tuple(
                    _leave_one_out(pool, name, without[name], mine[0], other)
                    for name, other in zip(LEFT_OUT, mine[1:], strict=True)
                ),
                images=mine[0][:, :MOST_IMAGES_SHOWN].float().numpy().reshape(-1, *pool.images.shape[1:]),
            )
        )
    return found


def watch_dm(pool: Pool, included: Tensor, config: DmConfig, start: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Run DM from the given images `[runs, m, …]`; the last images, and ‖T̄ − S̄‖ `[runs, steps + 1]` over classes.

    A condenser goes on from the state that `track` puts in place, as after an interruption: so it starts where told.
    """
    means = torch.stack([class_means(pool, row) for row in included])
    distances: list[Tensor] = []

    def watching(name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:
        state["images"] = start.clone()
        for step in untracked(name, total, state):
            distances.append(_distances(state["images"], means, config.ipc))
            yield step
        distances.append(_distances(state["images"], means, config.ipc))

    runs = tuple(range(len(included)))
    batch = condense_dm(pool, included, config, randomness=Randomness(seed=seed, runs=runs), track=watching)
    return batch.images, torch.stack(distances, 1)


def class_means(pool: Pool, members: Tensor) -> Tensor:
    """T̄ of every class, `[classes, d]`, float64."""
    flat = pool.images.double().flatten(1)
    return torch.stack([flat[part][members[part]].mean(0) for part in pool.class_slices])


def _distances(images: Tensor, means: Tensor, ipc: int) -> Tensor:
    barycentres = images.double().view(len(images), means.shape[1], ipc, -1).mean(2)
    return (barycentres - means).norm(dim=-1).mean(1)


def _by_class(images: Tensor, pool: Pool) -> Tensor:
    return images.double().view(pool.num_classes, -1, pool.images[0].numel())


def _record_to_leave_out(pool: Pool, which: str, seed: int) -> Tensor:
    """One record of every class: the farthest from its barycentre, or any other."""
    flat = pool.images.double().flatten(1)
    chosen = []
    for label, part in enumerate(pool.class_slices):
        order = (flat[part] - flat[part].mean(0)).norm(dim=1).argsort(descending=True)
        place = 0 if which == "farthest" else int(stream(seed, "left out", label).integers(1, len(order)))
        chosen.append(part.start + int(order[place]))
    return torch.tensor(chosen)


def _start(pool: Pool, ipc: int, init: str, without: list[Tensor], seed: int) -> Tensor:
    """Noise, or records of which none is left out in any run: (35) is about records that no image starts from."""
    if init == "random":
        shape = (pool.num_classes * ipc, *pool.images.shape[1:])
        return torch.from_numpy(stream(seed, "theory", ipc).standard_normal(shape, dtype=np.float32))
    banned = set(torch.cat(without).tolist())
    chosen = []
    for label, part in enumerate(pool.class_slices):
        order = stream(seed, "theory", ipc, label).permutation(part.stop - part.start) + part.start
        chosen += [record for record in order.tolist() if record not in banned][:ipc]
    return pool.images[torch.tensor(chosen)]


def _leave_one_out(pool: Pool, name: str, records: Tensor, images: Tensor, without: Tensor) -> LeaveOneOut:
    """What the images of all of T and those of T without one record of every class say about that record."""
    flat = pool.images.double().flatten(1)
    shifts, exact, bounds, errors = [], [], [], []
    for label, part in enumerate(pool.class_slices):
        target, size = flat[int(records[label])], part.stop - part.start
        others = (flat[part].sum(0) - target) / (size - 1)
        shifts.append(float((images[label] - without[label]).norm(dim=-1).max()))
        exact.append(float((others - target).norm()) / size)  # Eq. (35), second line
        largest = max(
            float(flat[part].norm(dim=1).max()), *(float(s[label].norm(dim=1).max()) for s in (images, without))
        )
        bounds.append(2 * largest / size)  # Eq. (35), third line; B of Assumption 4.9
        recovered = size * images[label].mean(0) - (size - 1) * others
        errors.append(float((recovered - target).norm() / (others - target).norm()))
    return LeaveOneOut(
        left_out=name,
        largest_shift=float(np.mean(shifts)),
        closed_form=float(np.mean(exact)),
        bound=float(np.mean(bounds)),
        worst_ratio=max(shift / bound for shift, bound in zip(shifts, bounds, strict=True)),
        recovery_error=float(np.mean(errors)),
    )


def gibbs_counterexample(*, num_images: int, shift: float, num_points: int = 200_001) -> GibbsCounterexample:
    """p(θ|S) ∝ exp(−Σ l(θ, s_i)) on θ ∈ [0, 1] with l(θ, s) = |θ − s|, 1-Lipschitz; S all at 0, S′ all at `shift`.

    ln p(θ)/q(θ) = Σ (l(θ, s′_i) − l(θ, s_i)) + ln K_S′ − ln K_S. Integrals by the trapezoidal rule.
    """
    theta = np.linspace(0, 1, num_points)
    energy, moved = num_images * theta, num_images * np.abs(theta - shift)
    before, after = (float(np.trapezoid(np.exp(-e), theta)) for e in (energy, moved))
    log_ratio = moved - energy + np.log(after) - np.log(before)
    total = num_images * shift
    return GibbsCounterexample(
        num_images=num_images,
        shift=shift,
        sup_log_ratio=float(np.abs(log_ratio).max()),
        right_side_of_eq33=total + abs(after - before),
        corrected_bound=2 * total,
        kl_divergence=float(np.trapezoid(np.exp(-energy) / before * log_ratio, theta)),
    )


def as_record(report: TheoryReport) -> dict[str, Any]:
    """For --json: everything but the images."""
    record = asdict(report)
    for entry in record["condensations"]:
        del entry["images"]
    return record
