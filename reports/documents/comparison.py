"""Several audits side by side: an overview, then what was found in each."""

from collections.abc import Iterable, Iterator, Sequence

from reports.documents import sections
from reports.documents.blocks import Block, Curves, Details, Document, Figure, Heading, Prose
from reports.documents.kinds import AuditMaterial, findings_and_rest
from reports.figures.curves import MOST_CURVES, curves_plot, curves_scales
from reports.figures.epsilon import epsilon_plot
from reports.figures.roc import SCALES
from reports.records.kinds import AuditRecord
from reports.records.schema import Roc
from reports.words.comparison import describe_rates, explain_comparison, name_curve
from reports.words.epsilon_rows import explain_bars, rows_of_reports
from reports.words.tables import comparison_table

_ROWS_PER_FIGURE = 25


def build_comparison(reports: Sequence[AuditRecord], materials: Iterable[AuditMaterial]) -> Document:
    """`materials` are those of the reports in their order; each is asked for when its part is written."""
    return Document(
        over="Privacy audits of condensed data sets",
        title=f"{len(reports)} audits compared",
        line=f"{len(reports)} privacy audits",
        reference="comparison",
        blocks=_overview(reports),
        source="Drawn from the report.json of each run, which holds all figures at full precision.",
        entries=tuple(sections.entry_of(report, number) for number, report in enumerate(reports, start=1)),
        parts=_parts(materials),
    )


def drawn_curves(reports: Sequence[AuditRecord]) -> list[int]:
    """Numbers, from 1, of all audits, or of those with the largest AUC where there are more than a figure can tell."""
    areas = {index: report.roc.auc for index, report in enumerate(reports) if report.roc is not None}
    order = sorted(areas, key=lambda index: (-areas[index], index))[:MOST_CURVES]
    return [index + 1 for index in sorted(order)]


def _parts(materials: Iterable[AuditMaterial]) -> Iterator[Document]:
    for number, material in enumerate(materials, start=1):
        found, rest = findings_and_rest(material)
        where = f"The full report, with the command to repeat the audit, is in {material.report.run_directory}."
        frame = {**sections.framed(material.report), "over": f"Audit {number}"}
        folded = Details(summary=sections.REST, blocks=rest, printed=False)
        yield Document(**frame, blocks=(*found, Prose(text=where, kind="note"), folded))


def _overview(reports: Sequence[AuditRecord]) -> tuple[Block, ...]:
    rows = rows_of_reports(reports)
    bars = [
        Figure(plot=epsilon_plot(rows[start : start + _ROWS_PER_FIGURE], "Certified ε of every audit"))
        for start in range(0, len(rows), _ROWS_PER_FIGURE)
    ]
    return (
        Prose(text=explain_comparison(reports)),
        Heading(text="Verdicts and figures"),
        comparison_table(reports),
        Heading(text="Certified ε and the claims"),
        *bars,
        Prose(text=explain_bars(rows), kind="note"),
        *_curves(reports),
    )


def _curves(reports: Sequence[AuditRecord]) -> tuple[Block, ...]:
    numbers = drawn_curves(reports)
    curves: list[tuple[str, Roc]] = []
    for number in numbers:
        report = reports[number - 1]
        if report.roc is not None:
            curves.append((name_curve(number, report), report.roc))
    if not curves:
        return ()
    note = "The numbers are those of the table; AUC is the area under a curve, and 0.5 is chance."
    without = [str(number) for number, report in enumerate(reports, start=1) if report.roc is None]
    if len(curves) < len(reports) - len(without):
        note += f" Of {len(reports) - len(without)} curves, the {MOST_CURVES} with the largest AUC are drawn."
    if without:
        note += f" No curve was measured in audit{'' if len(without) == 1 else 's'} {', '.join(without)}."
    return (
        Heading(text="Receiver operating characteristics"),
        Curves(
            name="roc",
            plot=curves_plot(curves, scales=SCALES),
            scales=curves_scales(curves),
            points=describe_rates(curves),
            saved=False,
        ),
        Prose(text=note, kind="note"),
    )
