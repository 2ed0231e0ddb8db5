"""What the condensations of a pool say about the propositions, equations (12), (13), (31), (33) and (35).

One class at a time, T its records and S its synthetic images; without augmentation, with all of T at every step, as the
paper assumes.

- Proposition 4.3: the barycentres of S and T coincide for linear extractors; Figure 7 shows how fast, for others too.
- Proposition 4.4: S* = S₀ + (T̄ − S̄₀), Eq. (12) and the general form (31) of (13), which assumes S̄₀ = 0.
- Eq. (35): leaving out x moves every image by ‖x − mean(T∖x)‖/|T| ≤ 2B/|T|. It is proved for linear extractors.
- What (35) does not say: the synthetic set still holds T̄, so an adversary who knows the other records solves it for x.
- Eq. (33) adds K_S′ − K_S where ln K_S′ − ln K_S belongs, and (17) bounds a KL divergence, a mean and no worst case:
  `gibbs_counterexample`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from scipy.integrate import trapezoid
from torch import Tensor

from audit.data.load import load_pool, pool_checksum
from audit.engine.cells import Cells
from audit.engine.pages import keep_record
from audit.engine.progress import ProgressBar
from audit.engine.store import RunDirectory, explain_failure, write_tensors
from audit.engine.where import Where
from audit.games.settings import digest_of_record, facts_of, versions
from audit.games.theory.condense import (
    EXTRACTORS,
    LEFT_OUT,
    TheoryWork,
    class_means,
    memberships,
    records_to_leave_out,
    starting_images,
)
from audit.specs.theory import Theory
from condensers.errors import BadConfig
from condensers.initial import INITS
from condensers.pool import Pool
from condensers.registry import get_method
from reports.documents.theory import TheoryMaterial, build_theory
from reports.records.gallery import Pixels, pixels
from reports.records.theory import Condensation, GibbsCounterexample, LeaveOneOut, TheoryReport
from reports.words.theory import STARTS

MOST_IMAGES_SHOWN = 4
SECONDS_PER_STEP = 3e-4  # and record, about


NOTES = (
    "(35) bounds how far one record moves the images; it is proved for linear extractors only, and ratios above 1 for "
    "the others refute nothing that was proved",
    "(33) adds K_S' - K_S where ln K_S' - ln K_S belongs; corrected, |ln p/q| <= 2 L sum |s'_i - s_i| <= 4 L B |S|/|T|",
    "(17) bounds a KL divergence, which is a mean over models and not a worst case, so it gives no epsilon of "
    "differential privacy",
    "both concern a model drawn from the Gibbs posterior of Assumption 4.8; S itself is a function of T, and "
    "with a linear extractor it reveals the record to an adversary who knows the others (column recovery)",
)


def examine(spec: Theory, where: Where, say: Callable[[str], None]) -> TheoryReport:
    """Condense with every extractor, from noise and from records, with and without single records."""
    pool = load_pool(spec.dataset, data_root=where.data_root, records=spec.records)
    return summarise_theory(pool, spec, extractors_and_sizes(pool, spec), condense_or_resume(pool, spec, where, say))


def run_theory(spec: Theory, where: Where, say: Callable[[str], None]) -> TheoryReport:
    """The same, written with its pages; images that started from records are drawn only if asked."""
    pool = load_pool(spec.dataset, data_root=where.data_root, records=spec.records)
    kinds = extractors_and_sizes(pool, spec)
    condensed = condense_or_resume(pool, spec, where, say)
    report = summarise_theory(pool, spec, kinds, condensed)
    directory = RunDirectory(where.out)
    shown = images_to_show(pool, spec, kinds, condensed)
    material = TheoryMaterial(report=report, pictures=theory_pictures(shown, show_records=where.show_records))
    with directory.held():
        if shown:
            write_tensors(directory.synthetic, shown, digest=report.digest)
        keep_record(report, build_theory(material), directory, say)
    return replace(report, run_directory=str(directory.path), pdf=str(directory.pdf))


def condense_or_resume(
    pool: Pool, spec: Theory, where: Where, say: Callable[[str], None]
) -> Sequence[Mapping[str, Tensor]]:
    """What `condense_watched` gives for each extractor and size, from finished cells as far as there are any."""
    kinds = extractors_and_sizes(pool, spec)
    work = TheoryWork(spec=spec, data_root=where.data_root, data_checksum=pool_checksum(pool), kinds=kinds)
    directory = RunDirectory(where.out)
    with explain_failure(directory.path):
        directory.path.mkdir(parents=True, exist_ok=True)
    cells = Cells(directory.path, where.executor, say)
    with directory.held(), ProgressBar(f"{len(kinds)} condensations", dict.fromkeys(range(len(kinds)), 1)) as bar:
        condensed = cells.gather(
            work,
            pool,
            bar.update,
            found=lambda unit: bar.update(unit, 1.0),
            seconds=lambda _: SECONDS_PER_STEP * spec.iterations * pool.num_records,
        )
    if cells.num_found:
        say(f"{cells.num_found} of {len(kinds)} condensations were finished before")
    return condensed


def images_to_show(
    pool: Pool, spec: Theory, kinds: Sequence[tuple[str, int]], condensed: Sequence[Mapping[str, Tensor]]
) -> dict[str, Tensor]:
    """Of the largest sets, some images of each class, by extractor and start; none where records are no pictures."""
    if pool.images.ndim != 4:
        return {}
    apart = len(LEFT_OUT) + 1
    return {
        f"{place} {extractor} from {STARTS[init]}": _first_of_each(tensors["images"][position * apart], pool)
        for place, ((extractor, ipc), tensors) in enumerate(zip(kinds, condensed, strict=True))
        if ipc == max(spec.ipc)
        for position, init in enumerate(INITS)
    }


def _first_of_each(images: Tensor, pool: Pool) -> Tensor:
    shown = _by_class(images, pool)[:, :MOST_IMAGES_SHOWN].float()
    return shown.reshape(-1, *pool.images.shape[1:]).contiguous()


def theory_pictures(shown: Mapping[str, Tensor], *, show_records: bool) -> dict[str, Pixels]:
    """Those that may be drawn, by what they are called."""
    return {
        name.split(" ", 1)[1]: pixels(shown[name].numpy())
        for name in sorted(shown)
        if show_records or not name.endswith(STARTS["real"])
    }


def extractors_and_sizes(pool: Pool, spec: Theory) -> tuple[tuple[str, int], ...]:
    """What is condensed with; refuses classes that are too small for it."""
    smallest = min(part.stop - part.start for part in pool.class_slices)
    needed = max(spec.ipc) + len(LEFT_OUT)
    if smallest < needed:
        raise BadConfig(f"--ipc {max(spec.ipc)}: needs {needed} records of every class, the smallest has {smallest}")
    extractors = EXTRACTORS if pool.images.ndim == 4 else EXTRACTORS[:2]
    return tuple((extractor, ipc) for extractor in extractors for ipc in dict.fromkeys(spec.ipc))


def summarise_theory(
    pool: Pool, spec: Theory, kinds: Sequence[tuple[str, int]], condensed: Sequence[Mapping[str, Tensor]]
) -> TheoryReport:
    """The record, from what `condense_watched` gave for each of the kinds."""
    found = [
        one
        for (extractor, ipc), tensors in zip(kinds, condensed, strict=True)
        for one in _measure(pool, spec, extractor, ipc, tensors)
    ]
    flat = pool.images.double().flatten(1)
    config = facts_of(spec)
    return TheoryReport(
        command=spec.command(),
        dataset=pool.name,
        class_size=pool.num_records / pool.num_classes,
        dimension=flat.shape[1],
        ranks=tuple(int(torch.linalg.matrix_rank(flat[part])) for part in pool.class_slices),
        condensations=tuple(found),
        gibbs=gibbs_counterexample(num_images=20, shift=0.002),
        notes=NOTES,
        config=config,
        versions=versions(get_method("dm")),
        digest=digest_of_record(config, pool_checksum(pool)),
        run_directory=".",
        pdf="report.pdf",
    )


def _measure(pool: Pool, spec: Theory, extractor: str, ipc: int, tensors: Mapping[str, Tensor]) -> list[Condensation]:
    """The figures of the six runs: for each start, what all of T gives, beside what it gives without a record."""
    included = memberships(pool, spec.seed)
    found = []
    for position, init in enumerate(INITS):
        runs = slice(position * len(included), (position + 1) * len(included))
        mine = [_by_class(images, pool) for images in tensors["images"][runs]]
        start = _by_class(starting_images(pool, ipc, init, spec.seed), pool)
        means = class_means(pool, included[0])
        shift = (means - start.mean(1)).unsqueeze(1)
        scale = mine[0].norm(dim=-1).max()
        found.append(
            Condensation(
                extractor=extractor,
                init=init,
                ipc=ipc,
                distances=tuple(tensors["distances"][runs.start].tolist()),
                closed_form_error=float((mine[0] - (start + shift)).norm(dim=-1).max() / scale),  # Eqs. (12) and (31)
                eq13_error=float((mine[0] - (start + means.unsqueeze(1))).norm(dim=-1).max() / scale),  # Eq. (13)
                leave_one_out=tuple(
                    _leave_one_out(pool, name, records_to_leave_out(pool, name, spec.seed), mine[0], other)
                    for name, other in zip(LEFT_OUT, mine[1:], strict=True)
                ),
            )
        )
    return found


def _by_class(images: Tensor, pool: Pool) -> Tensor:
    return images.double().view(pool.num_classes, -1, pool.images[0].numel())


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
    before, after = (float(trapezoid(np.exp(-e), theta)) for e in (energy, moved))
    log_ratio = moved - energy + np.log(after) - np.log(before)
    total = num_images * shift
    return GibbsCounterexample(
        num_images=num_images,
        shift=shift,
        sup_log_ratio=float(np.abs(log_ratio).max()),
        right_side_of_eq33=total + abs(after - before),
        corrected_bound=2 * total,
        kl_divergence=float(trapezoid(np.exp(-energy) / before * log_ratio, theta)),
    )
