"""The report of `audit utility`."""

from reports.documents import sections
from reports.documents.blocks import Columns, Definitions, Document, Figure, Heading, Prose
from reports.figures.utility import utility_plot
from reports.records.utility import UtilityReport
from reports.words import utility as words


def build_utility(report: UtilityReport) -> Document:
    """Accuracies as figure and table, what was measured, what it does not show, how to repeat it."""
    explained = words.explain_epsilon(report)
    sets = ", ".join(dict.fromkeys(row.set for row in report.rows))
    return Document(
        **sections.measured("Utility of condensed data sets", f"{sets} on {report.dataset}", "Utility", report.digest),
        blocks=(
            Prose(text=words.UTILITY_LEAD, kind="lead"),
            Prose(text=words.summary(report), kind="strong"),
            Heading(text="Accuracy by size of the set"),
            Figure(plot=utility_plot(report), name="utility"),
            Prose(text=f"{words.FIGURE_NOTE} {explained}".rstrip(), kind="note"),
            Heading(text="All sets and networks"),
            words.rows_table(report),
            Prose(text=words.explain_rows(report), kind="note"),
            *(Prose(text=note, kind="note") for note in report.notes),
            Columns(
                left=(Heading(text="What was measured"), Definitions(entries=words.utility_entries(report))),
                right=sections.limits(words.LIMITS, sections.LIMITS_OF_MEASUREMENT),
            ),
            *sections.repeated(report),
        ),
        source=f"{sections.SOURCE}; utility.csv holds the same rows, with seconds.",
    )
