"""Judges: from the records of commands to a ruling."""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from scipy import stats

from audit.claims.record import Evidence, Judge, Ruling
from reports.rounding import down


def auc_below(limit: float) -> Judge:
    """Claim: the AUC of the attack is below a limit. The interval is a bootstrap over test runs."""

    def judge(evidence: Sequence[Evidence], significance: float) -> Ruling:  # noqa: ARG001
        report = evidence[0].record
        low, high = report.roc.auc_interval
        verdict = "CONTRADICTED" if low > limit else "NOT CONTRADICTED" if high < limit else "NOT SHOWN"
        bound = report.epsilon
        return Ruling(
            verdict=verdict,
            figures=f"AUC {report.roc.auc:.4f} [{low:.4f}, {high:.4f}] against {limit:g}; certified epsilon >= "
            f"{down(bound.lower)} at delta {bound.delta:g} (a perfect attack would show {down(bound.ceiling)})",
        )

    return judge


def epsilon_is_about(stated: float) -> Judge:
    """Claim: ε ≈ `stated`, from ln(TPR/FPR). A ratio of two rates is no bound; what is certain is put beside it."""

    def judge(evidence: Sequence[Evidence], significance: float) -> Ruling:  # noqa: ARG001
        report = evidence[0].record
        low, high = report.roc.tpr_at_fpr_interval["0.001"]
        ratio = [f"{np.log(rate / 0.001):.2f}" if rate > 0 else "-inf" for rate in (low, high)]
        shown = "none" if report.paper_style_epsilon is None else f"{report.paper_style_epsilon:.2f}"
        bound = report.epsilon
        return Ruling(
            verdict="CONTRADICTED" if bound.lower > stated else "NOT SHOWN",
            figures=f"ln(TPR/FPR) at FPR 0.1% is {shown} [{ratio[0]}, {ratio[1]}] over runs, which bounds nothing; "
            f"certified is epsilon >= {down(bound.lower)}, of at most {down(bound.ceiling)} with these runs. No attack "
            "bounds epsilon from above",
        )

    return judge


def advantage_is_zero(evidence: Sequence[Evidence], significance: float) -> Ruling:  # noqa: ARG001
    """Claim: the advantage of the loss attack on members is about 0 (Table 2 of Dong et al.)."""
    return _advantage(evidence[0], "Table 2", excluded="CONTRADICTED", included="NOT CONTRADICTED")


def initial_records_leak(evidence: Sequence[Evidence], significance: float) -> Ruling:  # noqa: ARG001
    """Claim: records that images start from are found by the loss attack (Table 1 of Dong et al.)."""
    return _advantage(evidence[0], "Table 1", excluded="CONFIRMED", included="NOT SHOWN")


def _advantage(evidence: Evidence, table: str, *, excluded: str, included: str) -> Ruling:
    protocol = next(one for one in evidence.record.protocols if one.name.endswith(table))
    low, high = protocol.advantage_interval
    return Ruling(
        verdict=excluded if low > 0 else included,
        figures=f"advantage {protocol.advantage:.1%} [{low:.1%}, {high:.1%}] over {protocol.num_seeds} runs",
    )


def guarantee_holds(evidence: Sequence[Evidence], significance: float) -> Ruling:
    """Claim: (ε, δ)-DP. Tested against the whole trade-off curve of what the ledger claims."""
    report = evidence[0].record
    tightness = "" if report.tightness is None else f"tightness {report.tightness:.2f}; "
    worst = min(attempt.test.p_value for attempt in report.attempts)
    return Ruling(
        verdict="CONTRADICTED" if report.verdict == "REFUTED" else "NOT CONTRADICTED",
        figures=f"claimed epsilon {report.claimed.epsilon_pld:.3g} at delta {report.claimed.delta:g}; {tightness}"
        f"smallest p of {len(report.attempts)} scores {worst:.2g} (needed {significance:.2g})",
    )


def printed_epsilon_is_right(evidence: Sequence[Evidence], significance: float) -> Ruling:  # noqa: ARG001
    """Claim: the printed ε, against what the accountants compute for what is published and for what its code does."""
    lines, verdict = [], "CONFIRMED"
    for one in evidence:
        result = one.record
        printed, computed = result["printed_epsilon"], result["epsilon_rdp"]
        actual = None if result["actual"] is None else result["actual"]["epsilon_pld"]
        lines.append(
            f"{result['dataset']}: printed {'none' if printed is None else f'{printed:g}'}, RDP {computed:.3g}, "
            f"PLD {result['epsilon_pld']:.3g}" + ("" if actual is None else f", what the code does {actual:.3g}")
        )
        beyond = (printed is not None and computed > 1.02 * printed) or (
            actual is not None and actual > 1.02 * (printed or computed)
        )
        verdict = "CONTRADICTED" if beyond else verdict
    return Ruling(verdict=verdict, figures="; ".join(lines))


def more_private_than(baseline: str) -> Judge:
    """Claim: the first command's method leaks less than the second's. Same coins, hence paired by run.

    A threshold for FPR 1% is taken from the first half of each method's test runs; the true-positive rates at it are
    compared on the second half, run by run. Student's interval of the mean difference. Unit: runs.
    """

    def judge(evidence: Sequence[Evidence], significance: float) -> Ruling:
        first, second = (_rates_on_second_half(one) for one in evidence[:2])
        gap = (first[0] - first[1]) - (second[0] - second[1])
        reach = float(stats.t.isf(significance / 2, len(gap) - 1)) * gap.std(ddof=1) / sqrt(len(gap))
        low, high = gap.mean() - reach, gap.mean() + reach
        verdict = "CONFIRMED" if high < 0 else "CONTRADICTED" if low > 0 else "NOT SHOWN"
        accuracy = [one.record.utility.accuracy for one in evidence[:2] if one.record.utility is not None]
        beside = f"; accuracies {accuracy[0]:.1%} and {accuracy[1]:.1%}" if len(accuracy) == 2 else ""
        return Ruling(
            verdict=verdict,
            figures=f"TPR − FPR at a threshold for FPR 1%: {np.mean(first[0] - first[1]):.2%} against "
            f"{np.mean(second[0] - second[1]):.2%} for {baseline}; difference {gap.mean():.2%} [{low:.2%}, {high:.2%}] "
            f"over {len(gap)} runs{beside}",
        )

    return judge


def _rates_on_second_half(evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """True- and false-positive rates of each run of the second half, at the first half's threshold for FPR 1%."""
    half = len(evidence.members) // 2
    chosen = np.quantile(evidence.scores[:half][~evidence.members[:half]], 0.99)
    members, above = evidence.members[half:], evidence.scores[half:] > chosen
    return (above & members).sum(1) / members.sum(1), (above & ~members).sum(1) / (~members).sum(1)
