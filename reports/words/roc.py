"""What is said of operating characteristics."""

import numpy as np

from reports.records.allowed import allowed_at, allowed_region, lies_outside
from reports.records.kinds import HasCurve
from reports.records.schema import Roc, Tradeoff
from reports.words.intervals import bracketed, say_band
from reports.words.rounding import count, decimals_of, measured, percent, up_percent


def explain_roc(roc: Roc, num_nonmembers: int, *, about: bool = False) -> str:
    """How to read the curve. `about` says that the number of non-members is that to be expected."""
    others = f"about {count(num_nonmembers)}" if about else count(num_nonmembers)
    few = percent(float(f"{10 / num_nonmembers:.2g}"))
    return (
        f"TPR against FPR as the threshold on the score varies, with {others} non-members in the test runs. "
        f"{say_band(percent(roc.interval_confidence), roc.interval_unit)} Below an FPR of {few} (grey hatching) "
        "the curve rests on fewer than ten false positives. Dots mark the TPR at the key FPRs."
    )


def explain_outside(report: HasCurve, region: Tradeoff, num_nonmembers: int) -> str:
    """What the shaded region is and whether the curve leaves it."""
    rates = np.asarray(report.roc.curve["false_positive_rate"], dtype=np.float64)
    outside = rates[lies_outside(report, region, num_nonmembers)]
    text = f"The shaded region is what the claim allows ({region.source.rstrip('.')}). "
    if outside.size:
        ends = f"{say_rate(float(outside.min()), 2)} and {say_rate(float(outside.max()), 2)}"
        text += f"Here the whole interval lies outside at some FPRs between {ends}. "
    else:
        text += "Here the interval reaches into it at every FPR with ten or more false positives. "
    return text + (
        "Each interval holds at a single FPR, so the picture alone refutes nothing; the certified bound accounts for "
        "the sampling error."
    )


def describe_auc(roc: Roc) -> str:
    figure, interval = measured(roc.auc, roc.auc_interval)
    return f"AUC {figure} {interval}{bracketed(roc.interval_unit)}"


def describe_points(report: HasCurve, num_nonmembers: int) -> tuple[tuple[str, ...], ...]:
    """What the reader is told at each rate of the curve."""
    region = allowed_region(report)
    data = {name: np.asarray(values, dtype=np.float64) for name, values in report.roc.curve.items()}
    rates = data["false_positive_rate"]
    allowed = None if region is None else allowed_at(region, rates)
    outside = None if region is None else lies_outside(report, region, num_nonmembers)
    share = percent(report.roc.interval_confidence)
    points = []
    for index, rate in enumerate(rates):
        interval = (float(data["lower"][index]), float(data["upper"][index]))
        digits = max(decimals_of((100 * interval[0], 100 * interval[1]), most=3), 1)
        low, high = (percent(end, digits) for end in interval)
        told = [
            f"FPR {say_rate(float(rate))}",
            f"TPR {percent(float(data['true_positive_rate'][index]), digits)}",
            f"{share} interval [{low}, {high}]",
        ]
        if allowed is not None and outside is not None:
            told.append(f"allowed: at most {up_percent(float(allowed[index]))}")
            if outside[index]:
                told.append("outside, with its whole interval")
        points.append(tuple(told))
    return tuple(points)


def say_rate(rate: float, digits: int = 3) -> str:
    return percent(float(f"{rate:.{digits}g}"))
