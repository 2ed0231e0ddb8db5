"""A table of finished cells, the same on paper and on the screen."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Column:
    """Its share of the width, relative to the others', and where its cells stand; whether they hold sentences, which
    need some width on a phone."""

    title: str
    share: float
    align: str = "left"
    prose: bool = False


@dataclass(frozen=True, kw_only=True)
class Table:
    """Columns, and rows of as many cells; no head where no column has a title.

    `marked` is the number of a row that stands out. A `narrow` table may be set in two halves side by side. `code` says
    that the cells are names and values of settings.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: int | None = None
    narrow: bool = False
    code: bool = False

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"every row needs {len(self.columns)} cells")
