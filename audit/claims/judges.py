"""Judges of attacks and guarantees: from the records of commands to a ruling."""

from collections.abc import Sequence

import numpy as np

from audit.claims.record import Evidence, Judge, Ruling
from reports.words.intervals import bracketed
from reports.words.rounding import down, say_delta


def auc_below(limit: float) -> Judge:
    """Claim: the AUC of the attack is below a limit. The interval is that of the record, over public draws or runs."""

    def judge(evidence: Sequence[Evidence], significance: float) -> Ruling:  # noqa: ARG001
        report = evidence[0].record
        low, high = report.roc.auc_interval
        verdict = "CONTRADICTED" if low > limit else "NOT CONTRADICTED" if high < limit else "NOT SHOWN"
        bound = report.epsilon
        return Ruling(
            verdict=verdict,
            figures=f"AUC {report.roc.auc:.4f} [{low:.4f}, {high:.4f}] against {limit:g}; certified ε ≥ "
            f"{down(bound.lower)} at {say_delta(bound.delta)} (a perfect attack would certify {down(bound.ceiling)})",
        )

    return judge


def estimate_is_about(stated: float) -> Judge:
    """An estimate of ε by ln(TPR/FPR). Nobody promised it, and it bounds nothing; a certified ε may lie above it."""

    def judge(evidence: Sequence[Evidence], significance: float) -> Ruling:  # noqa: ARG001
        report = evidence[0].record
        low, high = report.roc.tpr_at_fpr_interval["0.001"]
        ratio = [f"{np.log(rate / 0.001):.2f}" if rate > 0 else "-inf" for rate in (low, high)]
        shown = "none" if report.paper_style_epsilon is None else f"{report.paper_style_epsilon:.2f}"
        bound = report.epsilon
        return Ruling(
            verdict="CONTRADICTED" if bound.lower > stated else "NOT SHOWN",
            figures=f"the paper estimates {stated:g} and promises nothing; here ln(TPR/FPR) at FPR 0.1% is {shown} "
            f"[{ratio[0]}, {ratio[1]}], and certified is ε ≥ {down(bound.lower)}, of at most "
            f"{down(bound.ceiling)} with these runs. CONTRADICTED would mean that the certified epsilon exceeds the "
            "estimate; no attack bounds epsilon from above",
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


def members_found(evidence: Sequence[Evidence], significance: float) -> Ruling:  # noqa: ARG001
    """Claim: the attack finds members, its AUC being above ½."""
    report = evidence[0].record
    low, high = report.roc.auc_interval
    return Ruling(
        verdict="CONFIRMED" if low > 0.5 else "NOT SHOWN",
        figures=f"AUC {report.roc.auc:.4f} [{low:.4f}, {high:.4f}] against .5{bracketed(report.roc.interval_unit)}; "
        f"certified ε ≥ {down(report.epsilon.lower)} at {say_delta(report.epsilon.delta)}",
    )


def no_members_found(evidence: Sequence[Evidence], significance: float) -> Ruling:
    """Claim: nobody recognises members in the synthetic images. Fair coins decide who was in (`audit visual`)."""
    report = evidence[0].record
    surest = min(report.distances, key=lambda distance: distance.p_value_adjusted)
    left_out = "".join(f"; {one.name} was not computed: {one.why}" for one in report.not_computed)
    counts = ", ".join(f"{one.name}: {one.num_members} of {one.num_guesses}" for one in report.distances)
    return Ruling(
        verdict="CONTRADICTED" if surest.p_value_adjusted < significance else "NOT CONTRADICTED",
        figures=f"nearest records that were members, {counts}; smallest p {surest.p_value_adjusted:.2g}, adjusted for "
        f"the number of distances (needed {significance:.2g}). A match by distance is not the judgement of a person"
        f"{left_out}",
    )


def guarantee_holds(evidence: Sequence[Evidence], significance: float) -> Ruling:
    """Claim: (ε, δ)-DP. Tested against the whole trade-off curve of what the ledger claims."""
    report = evidence[0].record
    if not report.attempts or report.verdict == "NOISE NOT AS CLAIMED":
        broken = report.verdict == "CONTRACT BROKEN"
        return Ruling(
            verdict="CONTRADICTED" if broken else "NOT SHOWN", figures=f"{report.verdict}: {report.verdict_reason}"
        )
    tightness = "" if report.tightness is None else f"tightness {report.tightness:.2f}; "
    worst = min(attempt.test.p_value for attempt in report.attempts)
    return Ruling(
        verdict="CONTRADICTED" if report.verdict == "REFUTED" else "NOT CONTRADICTED",
        figures=f"claimed ε = {report.claimed.epsilon_pld:.3g} at {say_delta(report.claimed.delta)}; {tightness}"
        f"smallest p of {len(report.attempts)} scores {worst:.2g} (needed {significance:.2g})",
    )
