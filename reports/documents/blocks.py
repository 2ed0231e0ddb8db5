"""The typed blocks that documents are made of. Every renderer sets the same blocks in the same order.

One rule decides what paper and screen do not share: a `Details` block that is not `printed` is left out on paper, where
its document says where else it can be read; all else is on both.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from reports.figures.canvas import Plot
from reports.figures.roc import Scale
from reports.records.gallery import Pixels
from reports.words.table import Column, Table

__all__ = ["Column", "Table"]
KINDS = ("lead", "body", "strong", "note", "alarm")
GLOSSARY = (
    "Terms (membership coin, canary, level, transcript, ceiling, …) are explained in the glossary, docs/glossary.md."
)


@dataclass(frozen=True, kw_only=True)
class Heading:
    """The name of a section."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Prose:
    """A paragraph; a note belongs to what stands before it."""

    text: str
    kind: str = "body"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"prose is {' or '.join(KINDS)}, not {self.kind!r}")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the audit came to, and why."""

    verdict: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class KeyFigure:
    """The one figure of a document, and what it means."""

    figure: str
    text: str


@dataclass(frozen=True, kw_only=True)
class KeyNumbers:
    """Name, figure and interval of each."""

    rows: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Definitions:
    """Terms, empty where the one before goes on, and what they are."""

    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Code:
    """A command that can be copied as it stands."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure; one with a `name` is also kept as a PNG file of that name."""

    plot: Plot
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Curves that the reader of a screen can follow: `points` says what to tell at each.

    On paper all kinds of axes stand side by side in `plot`; on the screen one of `scales` is shown at a time.
    """

    name: str
    plot: Plot
    scales: tuple[Scale, ...]
    points: tuple[tuple[str, ...], ...]
    saved: bool = True


@dataclass(frozen=True, kw_only=True)
class Thumbnails:
    """Pictures `[images, height, width, channels]` in [0, 1] side by side, a caption for each."""

    images: Pixels
    captions: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Two sequences of blocks side by side, where there is room."""

    left: "tuple[Block, ...]"
    right: "tuple[Block, ...]"


@dataclass(frozen=True, kw_only=True)
class Details:
    """Blocks that fold away on a screen under their summary."""

    summary: str
    blocks: "tuple[Block, ...]"
    printed: bool = True


Block = (
    Heading
    | Prose
    | Verdict
    | KeyFigure
    | KeyNumbers
    | Definitions
    | Code
    | Table
    | Figure
    | Curves
    | Thumbnails
    | Columns
    | Details
)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """How a part is listed: its label, and the subject and level by which it is chosen."""

    label: str
    subject: str
    level: str


@dataclass(frozen=True, kw_only=True)
class Document:
    """What is written to one file.

    `over` stands small above the `title`, `line` names the document in lists and at the foot of its pages, `subject` is
    for the file's metadata, `reference` identifies it. `parts` are documents of their own, listed by `entries`; they
    are asked for once, one after the other, so that only one is in memory. `withheld` names figures that must not be
    kept beside the file.
    """

    over: str
    title: str
    line: str
    subject: str = ""
    reference: str = ""
    blocks: tuple[Block, ...]
    source: str = ""
    entries: tuple[Entry, ...] = ()
    parts: "Iterable[Document]" = ()
    withheld: tuple[str, ...] = ()

    @property
    def closing(self) -> str:
        """What stands at the end: where the figures are from, where the terms are explained; empty for a part."""
        return f"{self.source} {GLOSSARY}" if self.source else ""
