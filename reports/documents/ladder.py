"""The ladder of adversaries: the same method against those who see more and more."""

from reports.documents.blocks import Block, Figure, Heading, Prose
from reports.figures.epsilon import epsilon_plot
from reports.records.schema import Ladder
from reports.words.bounds import BARS_NOTE, LEVELS_NOTE
from reports.words.epsilon_rows import rows_of_ladder
from reports.words.tables import ladder_table


def ladder_section(ladder: Ladder) -> tuple[Block, ...]:
    """Model, set and transcript: a bar each, and the table."""
    what = f"Certified ε of {ladder.method} by level of the adversary"
    return (
        Heading(text="The ladder of adversaries"),
        Figure(plot=epsilon_plot(rows_of_ladder(ladder), what)),
        ladder_table(ladder),
        Prose(text=f"{BARS_NOTE} {LEVELS_NOTE}", kind="note"),
    )
