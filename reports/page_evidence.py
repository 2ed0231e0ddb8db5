"""The evidence: operating characteristic, rates, scores, every bound, published protocols."""

import math

import numpy as np

from reports.distributions import ScoreHistogram, allowed_true_positive_rate
from reports.figures import draw_roc_linear, draw_roc_logarithmic, draw_scores
from reports.layout import Column, Document, put_axes, put_text
from reports.rounding import count, down, measured, measured_percent, ordinary, percent, small
from reports.schema import Report
from reports.style import CAPTION, MARGIN, TEXT_WIDTH
from reports.wording import claimed_epsilon, describe_kind, explain_headline


def set_roc(document: Document, report: Report, *, num_nonmembers: int) -> None:
    document.turn_page()
    document.heading("Receiver operating characteristic on the test runs")
    side, small_side = 288.0, 108.0
    sheet, top = document.sheet, document.y + 8
    axes = put_axes(sheet, MARGIN + 44, top, side, side)
    draw_roc_logarithmic(axes, report.roc, report.claimed, num_nonmembers=num_nonmembers)
    beside = MARGIN + TEXT_WIDTH - small_side - 10
    draw_roc_linear(put_axes(sheet, beside, top, small_side, small_side), report.roc, report.claimed)
    few = 10 / num_nonmembers
    text = (
        f"Every record of every test run gives one score; {count(num_nonmembers)} are of non-members. Left of FPR "
        f"{percent(float(f'{few:.2g}'))} (grey hatching) fewer than ten false positives carry the curve. Dots: the "
        "rates of the table below. Above: the same on linear axes."
    )
    if report.claimed is not None:
        text += (
            " If the claim holds, no attack's true curve enters the area above the dash-dotted line. The picture by "
            "itself refutes nothing: the bound does, which counts the sampling error."
        )
    put_text(sheet, text, CAPTION, beside - 22, top + small_side + 42, small_side + 32)
    document.y = top + side + 30
    _set_rates(document, report, num_nonmembers)


def _set_rates(document: Document, report: Report, num_nonmembers: int) -> None:
    claimed = claimed_epsilon(report.claimed)
    document.heading("True positive rates at low false positive rates")
    columns = [
        Column(title="FPR", share=0.12, align="right"),
        Column(title="false positives", share=0.16, align="right"),
        Column(title="TPR", share=0.13, align="right"),
        Column(title=f"{percent(report.roc.interval_confidence)} interval", share=0.25, align="right"),
        Column(title="TPR / FPR", share=0.14, align="right"),
    ]
    if claimed is not None:
        columns.append(Column(title="most the claim allows", share=0.20, align="right"))
    rows = []
    for key in sorted(report.roc.tpr_at_fpr, key=float):
        rate, level = report.roc.tpr_at_fpr[key], float(key)
        figure, interval = measured_percent(rate, report.roc.tpr_at_fpr_interval[key])
        behind = f"≤ {count(int(level * num_nonmembers))}" if level * num_nonmembers >= 1 else "< 1"
        rows.append([percent(level), behind, figure, interval, f"{rate / level:.1f}×"])
        if report.claimed is not None and claimed is not None:
            most = allowed_true_positive_rate(np.array([level]), epsilon=claimed, delta=report.claimed.delta)[0]
            rows[-1].append(f"{100 * most:.3g}%")
    document.table(columns, rows)


def set_scores(document: Document, histogram: ScoreHistogram) -> None:
    height = 138.0
    document.heading("Scores of members and non-members", keep=height + 66)
    width, top = (TEXT_WIDTH - 100) / 2, document.y + 14
    for index in range(2):
        axes = put_axes(document.sheet, MARGIN + 44 + index * (width + 56), top, width, height)
        draw_scores(axes, histogram, logarithmic=index == 1)
    document.y = top + height + 30
    text = (
        f"{count(histogram.num_members)} scores of members and {count(histogram.num_nonmembers)} of non-members, each "
        "kind adding up to 100%. "
    )
    if histogram.folded:
        text += f"{count(histogram.folded)} outermost scores are counted in the first and last bin."
    document.paragraph(text, CAPTION)


def set_bounds(document: Document, report: Report) -> None:
    document.heading("Every bound that was computed")
    columns = [
        Column(title="estimator", share=0.24),
        Column(title="kind", share=0.13),
        Column(title="ε", share=0.09, align="right"),
        Column(title="δ", share=0.08, align="right"),
        Column(title="confidence", share=0.12, align="right"),
        Column(title="unit", share=0.09, align="right"),
        Column(title="trials", share=0.13, align="right"),
        Column(title="ceiling", share=0.12, align="right"),
    ]
    rows = [
        [
            bound.estimator,
            describe_kind(bound),
            f"≈ {ordinary(bound.lower)}" if bound.kind == "no bound" else f"≥ {down(max(bound.lower, 0))}",
            "–" if bound.kind == "no bound" else small(bound.delta),
            "none" if bound.kind == "no bound" else percent(bound.confidence),
            bound.unit,
            count(bound.num_trials) if bound.num_trials else "–",
            "none" if math.isinf(bound.ceiling) else down(bound.ceiling),
        ]
        for bound in report.bounds
    ]
    if report.paper_style_epsilon is not None and all(bound.kind != "no bound" for bound in report.bounds):
        figure = f"≈ {ordinary(report.paper_style_epsilon)}"
        rows.append(["ln(TPR / FPR), paper style", "NO BOUND", figure, "–", "none", "–", "–", "–"])
    document.table(columns, rows, after=3)
    document.paragraph(
        f"{explain_headline(report.epsilon)} ln(TPR/FPR), as Dong et al. (2022) report it, has neither an interval nor "
        "a correction for the choice of the threshold: a figure to compare with theirs, NO BOUND on ε.",
        CAPTION,
    )
    if report.groups:
        _set_groups(document, report)
    if report.protocols:
        _set_protocols(document, report)


def _set_groups(document: Document, report: Report) -> None:
    document.heading("Ordinary records and canaries", keep=40 + 16 * len(report.groups))
    levels = sorted(report.roc.tpr_at_fpr, key=float)
    columns = [
        Column(title="records", share=0.18),
        Column(title="number", share=0.12, align="right"),
        Column(title="AUC", share=0.12, align="right"),
        Column(title="interval", share=0.22, align="right"),
        *(Column(title=f"TPR at {percent(float(level))}", share=0.13, align="right") for level in levels),
        Column(title="ε", share=0.10, align="right"),
    ]
    rows = [
        [
            group.name,
            count(group.num_records),
            *measured(group.auc, group.auc_interval),
            *(percent(group.tpr_at_fpr[level], 2) for level in levels),
            f"≥ {down(max(group.epsilon.lower, 0))}",
        ]
        for group in report.groups
    ]
    document.table(columns, rows, after=3)
    document.paragraph(
        "Canaries were planted to be found; each was in every run with probability ½, like any record. The verdict "
        "rests on all records together. The bounds of this table hold together: the confidence is shared among "
        f"{len(report.groups)} tries.",
        CAPTION,
    )


def _set_protocols(document: Document, report: Report) -> None:
    document.heading("Published protocols, run as published")
    columns = [
        Column(title="protocol", share=0.20),
        Column(title="source", share=0.22),
        Column(title="advantage", share=0.11, align="right"),
        Column(title="interval", share=0.19, align="right"),
        Column(title="seeds", share=0.08, align="right"),
        Column(title="note", share=0.20),
    ]
    rows = []
    for protocol in report.protocols:
        figure, interval = measured_percent(protocol.advantage, protocol.advantage_interval)
        rows.append([protocol.name, protocol.source, figure, interval, str(protocol.num_seeds), protocol.note])
    document.table(columns, rows)
