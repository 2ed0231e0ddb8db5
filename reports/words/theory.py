"""What is said of `audit theory`. Equations and propositions are those of Dong et al., arXiv:2206.00240."""

from reports.records.theory import Condensation, LeaveOneOut, TheoryReport
from reports.words.rounding import count, rough, significant
from reports.words.table import Column, Table

LEAD = (
    "Dong, Zhao and Lyu (arXiv:2206.00240) argue that distribution matching is private because one record moves the "
    "synthetic images only a little. Here the condenser itself is run, without augmentation and with all records at "
    "every step as the paper assumes, and every step of that argument is measured."
)
SYMBOLS_NOTE = (
    "T: the records of a class, |T| of them. S: its synthetic images, S₀ the images before the first step, S* "
    "those that minimise the loss. mean(T) and mean(S) are the barycentres, ‖·‖ is the Euclidean norm. B: the largest "
    "norm of a record or image. Extractor: the network whose features are matched; linear-relu is a linear layer "
    "followed by a ReLU. Figures are means over classes unless stated otherwise."
)
DISTANCES_NOTE = (
    "Propositions 4.3 and 4.4. Distance: ‖mean(T) − mean(S)‖ before the first and after the last step. Error of (31): "
    "of the closed form S* = S₀ + mean(T) − mean(S₀), relative to the largest image. Error of (13): of the form that "
    "the paper prints for images that start from noise, which leaves out mean(S₀). Both forms are proved for linear "
    "extractors."
)
SHIFTS_NOTE = (
    "Eq. (35). One record of every class is left out: the one that lies farthest from its class mean, or a typical one "
    "(drawn at random). Shift: how far the image that moves most is moved. Closed form: ‖x − mean(T∖x)‖/|T| for the "
    "record x. Bound: 2B/|T|. Worst ratio: the largest shift over the bound of its class; a ratio above 1 exceeds the "
    "bound, which is proved for linear extractors only. Recovery error: how far x is from what an adversary computes "
    "from S and the other records, relative to guessing their mean; 0 is a perfect reconstruction."
)
GROUPS_NOTE = (
    "In each group, from left to right: images that start from noise, without the farthest and without a typical "
    "record; then images that start from records, in the same order."
)
FIGURE_6_NOTE = (
    "Synthetic images after the last step, pixels clipped to [0, 1]. Images that start from records may show them and "
    "are drawn only with --show-records."
)
STARTS = {"random": "noise", "real": "records"}


def conclusions(report: TheoryReport) -> tuple[str, ...]:
    """What the figures mean, extractor by extractor, then the faults of the proof."""
    return (*(_extractor(report, name) for name in extractors(report)), *_gibbs(report))


def extractors(report: TheoryReport) -> list[str]:
    return list(dict.fromkeys(entry.extractor for entry in report.condensations))


def of_extractor(report: TheoryReport, extractor: str) -> list[Condensation]:
    return [entry for entry in report.condensations if entry.extractor == extractor]


def _extractor(report: TheoryReport, extractor: str) -> str:
    entries = of_extractor(report, extractor)
    left = [entry.distances[-1] / entry.distances[0] for entry in entries]
    removed = [one for entry in entries for one in entry.leave_one_out]
    ratio = max(one.worst_ratio for one in removed)
    errors = [one.recovery_error for one in removed]
    above = "above" if ratio > 1 else "within"
    return (
        f"Extractor {extractor}: after the last step the distance of the barycentres is {_range(left)} of what it was. "
        f"The closed form has a relative error of {_range([entry.closed_form_error for entry in entries])}. One record "
        f"moves an image by at most {rough(ratio)} times the bound of (35), {above} it. An adversary who knows the "
        f"other records recovers the remaining one with a relative error of {_range(errors)}."
    )


def _range(values: list[float]) -> str:
    low, high = rough(min(values)), rough(max(values))
    return low if low == high else f"{low} to {high}"


def _gibbs(report: TheoryReport) -> tuple[str, ...]:
    found = report.gibbs
    holds = "does not hold" if found.sup_log_ratio > found.right_side_of_eq33 else "holds"
    return (
        "(35) bounds how far one record moves the images. It does not bound what they reveal: S is a function of T.",
        f"Eq. (33) bounds the ratio of p and q, the densities of a model trained on S and on S′. On θ in [0, 1] with "
        f"loss |θ − s| and {count(found.num_images)} images moved by {found.shift:g}, the largest |ln p/q| is "
        f"{significant(found.sup_log_ratio)} and the right side of (33) is {significant(found.right_side_of_eq33)}: "
        f"(33) {holds}. It adds K(S′) − K(S) where ln K(S′) − ln K(S) belongs, with K the normalising constants; "
        f"corrected, the bound is {significant(found.corrected_bound)}.",
        f"Eq. (17) bounds a Kullback-Leibler divergence, here {rough(found.kl_divergence)}: a mean over models and no "
        "worst case, hence no ε of differential privacy.",
    )


def explain_assumption(report: TheoryReport) -> str:
    """Whether Assumption 4.1 holds."""
    low, high = min(report.ranks), max(report.ranks)
    spanned = str(low) if low == high else f"{low} to {high}"
    verdict = "holds" if high < report.dimension else "does not hold"
    return (
        f"{report.dataset}: {report.class_size:g} records per class in {report.dimension} dimensions, of which the "
        f"records of a class span {spanned}. Assumption 4.1 of the paper, that they do not span all, {verdict}."
    )


def distances_table(report: TheoryReport) -> Table:
    """A row for each condensation."""
    columns = (
        Column(title="extractor", share=0.18),
        Column(title="start", share=0.12),
        Column(title="images per class", share=0.14, align="right"),
        Column(title="distance before", share=0.14, align="right"),
        Column(title="distance after", share=0.14, align="right"),
        Column(title="error of (31)", share=0.14, align="right"),
        Column(title="error of (13)", share=0.14, align="right"),
    )
    rows = tuple(
        (
            entry.extractor,
            STARTS[entry.init],
            str(entry.ipc),
            significant(entry.distances[0]),
            significant(entry.distances[-1]),
            rough(entry.closed_form_error),
            rough(entry.eq13_error) if entry.init == "random" else "–",
        )
        for entry in report.condensations
    )
    return Table(columns=columns, rows=rows)


def shifts_table(report: TheoryReport) -> Table:
    """A row for each condensation and record left out."""
    columns = (
        Column(title="extractor", share=0.15),
        Column(title="start", share=0.1),
        Column(title="images per class", share=0.1, align="right"),
        Column(title="left out", share=0.12),
        Column(title="shift", share=0.11, align="right"),
        Column(title="closed form", share=0.1, align="right"),
        Column(title="bound", share=0.1, align="right"),
        Column(title="worst ratio", share=0.1, align="right"),
        Column(title="recovery error", share=0.12, align="right"),
    )
    rows = tuple(
        (entry.extractor, STARTS[entry.init], str(entry.ipc), one.left_out, *_figures(one))
        for entry in report.condensations
        for one in entry.leave_one_out
    )
    return Table(columns=columns, rows=rows)


def _figures(one: LeaveOneOut) -> tuple[str, ...]:
    measured = (one.largest_shift, one.closed_form, one.bound)
    return (*(significant(value) for value in measured), f"{one.worst_ratio:.2f}", rough(one.recovery_error))
