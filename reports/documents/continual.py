"""The report of `audit continual`."""

from reports.documents import sections
from reports.documents.blocks import Columns, Definitions, Document, Figure, Heading, Prose
from reports.figures.utility import stages_plot
from reports.records.utility import ContinualReport
from reports.words import utility as words


def build_continual(report: ContinualReport) -> Document:
    """Accuracy stage by stage as figure and table, what was measured, how to repeat it."""
    explained = words.explain_epsilon(report)
    about = f"{report.method} on {report.dataset}"
    return Document(
        **sections.measured("Class-incremental learning from condensed sets", about, "Continual", report.digest),
        blocks=(
            Prose(text=words.CONTINUAL_LEAD, kind="lead"),
            Prose(text=words.continual_summary(report), kind="strong"),
            Heading(text="Accuracy after each stage"),
            Figure(plot=stages_plot(report), name="stages"),
            words.stages_table(report),
            Prose(text=f"{words.STAGES_NOTE} {explained}".rstrip(), kind="note"),
            Columns(
                left=(Heading(text="What was measured"), Definitions(entries=words.continual_entries(report))),
                right=sections.limits(words.STAGE_LIMITS, sections.LIMITS_OF_MEASUREMENT),
            ),
            *sections.repeated(report),
        ),
        source=f"{sections.SOURCE}.",
    )
