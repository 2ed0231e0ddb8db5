"""What is said of `audit worst-case`: words, tables and marks."""

from reports.records.kinds import Curve
from reports.records.schema import claimed_epsilon
from reports.records.worst_case import Corner, WorstCaseReport, corners_of
from reports.words.attempts import probability, shown_attempts
from reports.words.bounds import claim_in_words, explain_accountants, explain_claim, many_audits, sentence
from reports.words.rounding import count, down, percent, up
from reports.words.table import Column, Table

_SEES = {
    "transcript": "every noisy sum that the method computes from the records, and what it releases",
    "set": "the released set",
    "model": "a network that was released, or trained on the released set",
}
LEDGER_NOTE = "n × σ s at rate q: n releases with noise multiplier s, each from a sample drawn at rate q."
_NEXT = (
    "Omit --design to try every design of the neighbouring pools, or change the pools that the canary is added to "
    "(--dataset, --records, --classes)."
)
BARS_NOTE = (
    "“clopper-pearson” assumes nothing about the mechanism. “gaussian” and “family” assume that the mechanism belongs "
    "to the claimed family and are bounds on ε only if it does. The verdict rests on tests of the whole trade-off "
    "curve and on the bound that the report starts with: if that bound exceeds the claim, the claim is refuted, "
    "because the claim includes the family."
)


def explain_estimator(report: WorstCaseReport) -> str:
    """What the estimator of the headline assumes."""
    name = report.epsilon.estimator
    return {
        "clopper-pearson": "Clopper–Pearson bound, which assumes nothing about the mechanism.",
        "family": "Family bound: it assumes the claimed mechanism with an unknown noise multiplier.",
    }.get(name, f"Estimator “{name}”.")


def seen(report: WorstCaseReport) -> str:
    """Who attacks, in a sentence."""
    sees = _SEES.get(report.level, report.level)
    return f"Worst case, level “{report.level}”: the adversary chooses the neighbouring pools and sees {sees}."


def contracts_table(report: WorstCaseReport) -> Table:
    """The contracts of a method that uses the door, and the test of its noise."""
    columns = (
        Column(title="check", share=0.2),
        Column(title="outcome", share=0.14),
        Column(title="finding", share=0.66, prose=True),
    )
    outcomes = {True: "held", False: "NOT HELD", None: "not checked"}
    rows = [(f"contract {check.name}", outcomes[check.held], check.sentence) for check in report.contracts]
    if report.noise is not None:
        noise = report.noise
        rows.append(
            (
                "distribution of the noise",
                f"p = {probability(noise.p_value)}",
                f"Goodness of fit of {count(noise.num_values)} values from runs without records; worst in "
                f"{noise.worst}. p is the probability of a fit this bad if the noise is as claimed. No ε follows from "
                "it.",
            )
        )
    return Table(columns=columns, rows=tuple(rows))


def names_releases(report: WorstCaseReport) -> bool:
    """Whether a finding lists releases in the short form that `LEDGER_NOTE` explains."""
    return any("× σ" in check.sentence for check in report.contracts)


def curve_of(report: WorstCaseReport) -> Curve | None:
    if report.roc is None:
        return None
    return Curve(roc=report.roc, claimed=report.claimed, tradeoff=report.tradeoff)


def num_nonmembers(report: WorstCaseReport) -> int:
    """Runs without the canary behind the curve."""
    return report.num_trials // 2


def marks_of(report: WorstCaseReport) -> tuple[tuple[str, Corner], ...]:
    """Corners to draw, with their numbers in the table; those of one place, to a per cent, share a mark."""
    places: dict[tuple[float, float, bool], list[Corner]] = {}
    shown = {number for number, _ in shown_attempts(report)}
    for corner in corners_of(report):
        if corner.number not in shown:
            continue
        place = (round(corner.false_positive_rate, 2), round(corner.true_positive_rate, 2), corner.outside)
        places.setdefault(place, []).append(corner)
    groups = sorted(places.values(), key=lambda group: group[0].false_positive_rate)
    return tuple((", ".join(str(each.number) for each in group), group[0]) for group in groups)


def explain_curve(report: WorstCaseReport) -> str:
    """What the figure shows, and what to conclude."""
    line = (
        "The line with its band is the ROC of one score over all runs: the true positive rate (TPR, share of runs with "
        "the canary that are detected) against the false positive rate (FPR, share of runs without it that are wrongly "
        "flagged). Its interval holds at a single FPR chosen beforehand, and no verdict depends on it."
    )
    if report.tradeoff is None:
        return line
    refuting = [corner.number for corner in corners_of(report) if corner.outside]
    outside = (
        f"Those of the attempts {_listed(refuting)} lie outside and refute the claim."
        if len(refuting) > 1
        else f"That of attempt {refuting[0]} lies outside and refutes the claim."
        if refuting
        else "None lies outside here, so the claim is not refuted, which does not prove it."
    )
    return (
        f"The shaded region is what the claim allows ({report.tradeoff.source.rstrip('.')}). Each mark, numbered as in "
        "the table, is the corner of the confidence region of one attempt: its largest FPR and smallest TPR after "
        f"correction for all attempts. A corner outside the shaded region refutes the claim. {outside} {line}"
    )


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def explain_tightness(report: WorstCaseReport) -> str:
    if report.tightness is None:
        return f"Not available: {report.tightness_reason.rstrip('.')}. The verdict does not depend on it."
    return (
        f"{down(report.tightness, 3)}, the certified ε of the family bound divided by the ε that PLD proves. At 1 "
        "neither a stronger attack nor a sharper accounting could change anything; what is missing is due to the "
        "finite number of runs."
    )


def audited_entries(report: WorstCaseReport) -> tuple[tuple[str, str], ...]:
    """What was audited, entry by entry."""
    left = (("Not examined", sentence("; ".join(report.not_examined))),) if report.not_examined else ()
    if not report.epsilon.num_trials:
        again = (("Next step", _NEXT),) if report.verdict == "NOTHING TESTED" else ()
        claimed = () if report.claimed is None else (("Claimed", claim_in_words(report.claimed)),)
        return (*claimed, ("Runs", "None: nothing was measured, for the reason that the verdict gives"), *left, *again)
    return (
        ("Claimed", explain_claim(report) + explain_accountants(report.claimed)),
        *left,
        *((("Tightness", explain_tightness(report)),) if report.ledger else ()),
        (
            "Runs",
            f"{count(report.num_trials)} runs of the real code with the canary as the only record in doubt, half of "
            "them with it; other designs of the neighbouring pools use a quarter as many",
        ),
        ("Canary", _canary(report)),
    )


def _canary(report: WorstCaseReport) -> str:
    """Which record the adversary chose; how long its vectors are, where something is clipped."""
    chosen = "A record chosen by the adversary to be as visible as possible"
    if not report.ledger:
        return chosen
    return (
        f"{chosen}; its vectors reach {percent(report.canary_typical_length, 1)} of the clipping norm (root mean "
        f"square), and {down(100 * report.canary_length, 1)}% in the release where they are shortest"
    )


def ledger_table(report: WorstCaseReport) -> Table:
    """The mechanism ledger: every release, with its sample and its noise."""
    columns = (
        Column(title="releases", share=0.12, align="right"),
        Column(title="records", share=0.18),
        Column(title="sampling", share=0.26),
        Column(title="noise multiplier", share=0.16, align="right"),
        Column(title="noise scaled by", share=0.16),
        Column(title="accounted", share=0.12),
    )
    rows = tuple(
        (
            count(entry["count"]),
            "all records" if entry["group"] is None else f"class {entry['group']}",
            _sample(entry["sampling"]),
            f"{entry['noise_multiplier']:.4g}",
            "clipping norm" if entry["noise_by"] == "clip" else str(entry["noise_by"]),
            "yes" if entry["accounted"] else "NO",
        )
        for entry in report.ledger
    )
    return Table(columns=columns, rows=rows)


def _sample(sampling: dict[str, float]) -> str:
    if "rate" in sampling:
        return f"Poisson, rate {sampling['rate']:.4g}"
    return ", ".join(f"{name} {value:g}" for name, value in sorted(sampling.items()))


def trials_table(report: WorstCaseReport) -> Table:
    columns = (
        Column(title="runs", share=0.2, align="right"),
        Column(title="runs tested", share=0.22, align="right"),
        Column(title="ceiling: no error", share=0.26, align="right"),
        Column(title="error rates as here", share=0.26, align="right"),
    )
    rows = tuple(
        (
            count(step.num_runs),
            count(step.num_test_runs),
            f"ε ≥ {down(step.ceiling)}",
            f"ε ≥ {down(step.lower_at_same_rates)}",
        )
        for step in report.outlook
    )
    return Table(columns=columns, rows=rows)


def explain_trials(report: WorstCaseReport) -> str:
    """What more trials would buy, in a few sentences."""
    text = (
        "Clopper–Pearson bounds, which assume nothing about the mechanism. The ceiling is what an attack without a "
        "single error would certify; the last column extrapolates the error rates of this audit and is not a bound. "
    )
    claimed, last = claimed_epsilon(report.claimed), report.outlook[-1]
    if claimed is None or report.verdict == "REFUTED":
        return text.rstrip()
    if last.ceiling <= claimed:
        return (
            f"{text}The claim of ε ≤ {up(claimed)} lies above every ceiling in the table: only the test of the whole "
            "curve, or a bound that assumes the family, can refute it."
        )
    return text.rstrip()


def limit_entries(report: WorstCaseReport) -> tuple[tuple[str, str], ...]:
    """What this audit does not show."""
    if not report.epsilon.num_trials:
        return (("Size of the leak", "Nothing was measured, so no ε is certified: the true ε may be large or small."),)
    tried = len(report.attempts) or report.epsilon.num_tries
    return (
        (
            "Upper bounds",
            "An audit certifies lower bounds only. NOT REFUTED does not prove privacy: it says that these scores "
            "found no contradiction in this many runs.",
        ),
        (
            "Other faults",
            f"{count(tried)} scores were tested, none of them aimed at a particular fault. A leak that none of them "
            "detects in this many runs stays undetected.",
        ),
        (
            "Real data",
            "The neighbouring pools were constructed to expose a record and were not drawn from real data. An ordinary "
            "adversary learns far less about ordinary records: audit lira measures that at levels model and set.",
        ),
        (
            "Other settings",
            "The small configuration of this report was audited, with its own privacy accounting. The code is the same "
            "at full size; its ε is not.",
        ),
        many_audits(report.epsilon),
    )
