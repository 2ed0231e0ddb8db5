"""The reports of `audit adversaries` and `audit sweep`."""

from reports.documents.blocks import Block, Code, Definitions, Details, Document, Figure, Heading, Prose
from reports.figures.grid import adversaries_plot, sweep_plot
from reports.records.grid import GridReport
from reports.words import grid as words
from reports.words.bounds import REPEAT_NOTE, SYMBOLS_NOTE, repeat_entries, settings_table


def build_grid(report: GridReport) -> Document:
    """The figure, what it means, every cell, how to repeat it."""
    title = "Adversaries compared" if report.kind == "adversaries" else "Sweep over sizes"
    return Document(
        over="Privacy audits of a condensed data set",
        title=f"{title}: {report.method} on {report.dataset}",
        line=f"{title}, {report.method}, {report.dataset}",
        subject=f"{len(report.cells)} audits; digest {report.digest}",
        reference=report.digest[:16],
        blocks=(*(_adversaries(report) if report.kind == "adversaries" else _sweep(report)), *_rest(report)),
        source="Drawn from report.json; every cell has a report of its own.",
    )


def _adversaries(report: GridReport) -> tuple[Block, ...]:
    return (
        Prose(text=words.explain_bounds(report), kind="lead"),
        Heading(text="Certified ε by adversary"),
        Figure(plot=adversaries_plot(report), name="adversaries"),
        Prose(text=f"The stronger the colour of a field, the closer ε is to the ceiling. {SYMBOLS_NOTE}", kind="note"),
        Heading(text="What protects against which adversary"),
        *(Prose(text=text) for text in words.explain_adversaries(report)),
    )


def _sweep(report: GridReport) -> tuple[Block, ...]:
    return (
        Prose(text=words.explain_bounds(report), kind="lead"),
        Heading(text="Certified ε and AUC by size"),
        Figure(plot=sweep_plot(report), name="sweep"),
        Prose(text=f"{words.explain_law(report)} {SYMBOLS_NOTE}", kind="note"),
    )


def _rest(report: GridReport) -> tuple[Block, ...]:
    return (
        Heading(text="All cells"),
        words.cells_table(report),
        Prose(text=words.explain_intervals_of(report), kind="note"),
        Prose(text=f"Scope of the first cell: {report.scope}.", kind="note"),
        Heading(text="How to repeat this"),
        Prose(text=REPEAT_NOTE),
        Code(text=report.command),
        Definitions(entries=repeat_entries(report.digest, report.versions, Run_directory=report.run_directory)),
        Details(summary="Run directories of the cells", blocks=(words.directories_table(report),)),
        Details(summary="Specification", blocks=(settings_table(words.used_settings(report)),)),
    )
