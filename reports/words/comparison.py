"""What is said of several audits side by side."""

from collections.abc import Sequence

import numpy as np

from reports.records.kinds import AuditRecord
from reports.records.schema import Roc
from reports.words.roc import say_rate
from reports.words.rounding import count, percent, up

_LONGEST = 34
CURVE_NOTE = (
    " In worst-case audits the verdict rests on tests of the whole trade-off curve and on the certified ε, which may "
    "assume the claimed family of mechanisms."
)


def explain_comparison(reports: Sequence[AuditRecord]) -> str:
    """What the reader of several audits must not forget."""
    confidences = [report.epsilon.confidence for report in reports if report.epsilon.num_trials]
    share = percent(confidences[0]) if len(set(confidences)) == 1 else "its own"
    error = min(1.0, sum(1 - confidence for confidence in confidences))
    return (
        f"{count(len(reports))} audits. Each bound holds with {share} confidence by itself. The probability that at "
        f"least one of them is too high may be up to {up(100 * error, 0)}%, so correct for multiple testing before you "
        "single one out. Figures of audits with different data, sizes, levels or δ are not directly comparable."
    ) + (CURVE_NOTE if any(report.attack == "worst-case" for report in reports) else "")


def name_curve(number: int, report: AuditRecord) -> str:
    """How a legend calls it."""
    name = f"{number}  {report.method}, {report.attack}, {report.level}"
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def describe_rates(curves: Sequence[tuple[str, Roc]]) -> tuple[tuple[str, ...], ...]:
    """What the reader is told at each rate of the first curve."""
    rates = curves[0][1].curve["false_positive_rate"]
    heights = [np.interp(rates, roc.curve["false_positive_rate"], roc.curve["true_positive_rate"]) for _, roc in curves]
    return tuple(
        (
            f"FPR {say_rate(rate)}",
            *(f"{name}: TPR {say_rate(float(true[index]))}" for (name, _), true in zip(curves, heights, strict=True)),
        )
        for index, rate in enumerate(rates)
    )
