"""The same method against adversaries who see more and more."""

from reports.documents.blocks import Block, Figure, Heading, Prose
from reports.figures.epsilon import epsilon_plot
from reports.records.schema import Ladder
from reports.words.bounds import LEVELS_NOTE
from reports.words.epsilon_rows import explain_bars, rows_of_ladder
from reports.words.ladder import transcript_note
from reports.words.tables import ladder_table


def ladder_section(ladder: Ladder) -> tuple[Block, ...]:
    """Model, set and transcript: a bar each, and the table."""
    what = f"Certified ε of {ladder.method} by level of the adversary"
    rows = rows_of_ladder(ladder)
    return (
        Heading(text="Certified ε by level of the adversary"),
        ladder_table(ladder),
        Figure(plot=epsilon_plot(rows, what)),
        Prose(text=f"{explain_bars(rows)} {LEVELS_NOTE}{transcript_note(ladder)}", kind="note"),
    )
