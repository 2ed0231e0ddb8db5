"""Judges of the theory of Dong et al. (arXiv:2206.00240, section 4), on the records of `audit theory`."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from audit.claims.record import Evidence, Judge, Ruling

ROUNDING = 1e-4  # of single precision, after some hundred steps


def closed_form_holds(evidence: Sequence[Evidence], significance: float) -> Ruling:  # noqa: ARG001
    """Propositions 4.3 and 4.4 for linear extractors: barycentres coincide, and Eqs. (12) and (31) hold."""
    entries = [e for one in evidence for e in one.record.condensations if e.extractor == "linear"]
    apart = max(entry.distances[-1] / entry.distances[0] for entry in entries)
    error = max(entry.closed_form_error for entry in entries)
    return Ruling(
        verdict="CONFIRMED" if max(apart, error) < ROUNDING else "CONTRADICTED",
        figures=f"over {len(entries)} condensations the distance of the barycentres falls to at most {apart:.1e} of "
        f"what it was, and the closed form is off by at most {error:.1e} of the largest image",
        is_arithmetic=True,
    )


def barycentres_approach(extractor: str) -> Judge:
    """Remark 4.5 and Figure 7: the barycentres approach each other for other extractors too.

    Student's interval over seeds of the mean logarithm of the ratio, at each size and start, which share the error.
    """

    def judge(evidence: Sequence[Evidence], significance: float) -> Ruling:
        ratios: dict[str, list[float]] = {}
        for one in evidence:
            for entry in one.record.condensations:
                if entry.extractor == extractor:
                    start = "noise" if entry.init == "random" else "records"
                    ratio = entry.distances[-1] / entry.distances[0]
                    ratios.setdefault(f"{entry.ipc} images per class from {start}", []).append(ratio)
        intervals = {name: _interval(np.log(values), significance / len(ratios)) for name, values in ratios.items()}
        apart = any(low > 0 for low, _ in intervals.values())
        together = all(high < 0 for _, high in intervals.values())
        shown = "; ".join(f"{name}: [{np.exp(low):.2g}, {np.exp(high):.2g}]" for name, (low, high) in intervals.items())
        return Ruling(
            verdict="CONTRADICTED" if apart else "CONFIRMED" if together else "NOT SHOWN",
            figures=f"distance of the barycentres at the end over that at the start, {len(evidence)} seeds: {shown}",
        )

    return judge


def _interval(values: np.ndarray, significance: float) -> tuple[float, float]:
    """Student's, for the mean."""
    reach = float(stats.t.isf(significance / 2, len(values) - 1)) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - reach), float(values.mean() + reach)


def eq33_holds(evidence: Sequence[Evidence], significance: float) -> Ruling:  # noqa: ARG001
    """Eq. (33), which adds K_S' − K_S where ln K_S' − ln K_S belongs: one counterexample decides it."""
    gibbs = evidence[0].record.gibbs
    return Ruling(
        verdict="CONTRADICTED" if gibbs.sup_log_ratio > gibbs.right_side_of_eq33 else "NOT CONTRADICTED",
        figures=f"on [0, 1] with l = |theta - s| and {gibbs.num_images} images moved by {gibbs.shift:g}: sup |ln p/q| "
        f"is {gibbs.sup_log_ratio:.4f}, the right side of (33) {gibbs.right_side_of_eq33:.4f}, with ln K in it "
        f"{gibbs.corrected_bound:.4f}. With the logarithm the order O(|S|/|T|) of (17) stands, under Assumption 4.8",
        is_arithmetic=True,
    )
