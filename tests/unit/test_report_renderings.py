"""Paper and screen say the same in the same order: every kind of document is rendered twice and read back."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from test_report_html import whole_report
from test_report_simulation import CLAIM, simulate_gallery, simulate_report

from reports.documents import blocks
from reports.documents.blocks import (
    Block,
    Code,
    Columns,
    Curves,
    Definitions,
    Details,
    Document,
    Figure,
    Heading,
    KeyFigure,
    KeyNumbers,
    Prose,
    Table,
    Thumbnails,
    Verdict,
)
from reports.documents.comparison import build_comparison
from reports.documents.membership import build_membership, gather_membership
from reports.documents.visual import NearestMaterial, build_nearest
from reports.records.gallery import Gallery, Pictures
from reports.records.kinds import load_record
from reports.records.schema import dump
from reports.records.visual import Column, Match, NearestReport, Nearness, NotComputed
from reports.render.html import write_html
from reports.render.pdf import write_pdf

NUMBER = re.compile(r"\d+(?:[.\u202f]\d+)*%?")
SIGNS = "✗●○"


def strings_of(sequence: Sequence[Block]) -> Iterator[str]:
    """What the blocks say on both, in order; words within figures and captions of pictures aside."""
    for block in sequence:
        match block:
            case Heading() | Prose() | Code():
                yield block.text
            case Verdict():
                yield from (block.verdict, block.reason)
            case KeyFigure():
                yield from (block.figure, block.text)
            case KeyNumbers():
                yield from (cell for row in block.rows for cell in row)
            case Definitions():
                yield from (part for entry in block.entries for part in entry)
            case Table():
                yield from (column.title for column in block.columns)
                yield from (cell for row in block.rows for cell in row)
            case Columns():
                yield from strings_of(block.left + block.right)
            case Details():
                yield from (block.summary, *strings_of(block.blocks)) if block.printed else ()
            case Figure() | Curves() | Thumbnails():
                pass


class Page(HTMLParser):
    """The words of a page, without those of its furniture and of what is not printed."""

    SKIPPED = ("script", "style", "title", "fieldset", "figcaption", "nav", "footer")

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self.skipping: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag in self.SKIPPED or "data-screen-only" in named or named.get("class") == "over" or tag in self.skipping:
            self.skipping.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.skipping and self.skipping[-1] == tag:
            self.skipping.pop()

    def handle_data(self, data: str) -> None:
        if not self.skipping:
            self.words.append(data)


def squeezed(text: str) -> str:
    """Without white space and what a line break in a command adds."""
    return re.sub(r"[\s\\]", "", text)


def assert_same_on_paper_and_screen(document: Document, folder: Path) -> None:
    """On the screen there is nothing else; on paper there are also the words within figures."""
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext (poppler-utils) is not installed: the text of the PDF cannot be read")
    parts = list(document.parts)
    write_html(replace(document, parts=iter(parts)), folder / "page.html")
    write_pdf(replace(document, parts=iter(parts)), folder / "page.pdf")
    said = [document.title, *strings_of(document.blocks)]
    for part in parts:
        said += [part.title, *strings_of(part.blocks)]
    page = " ".join(Page((folder / "page.html").read_text(encoding="utf-8")).words)
    on_screen = squeezed("".join(letter for letter in page if letter not in SIGNS))
    assert on_screen == squeezed("".join(said))
    command = ["pdftotext", "-raw", str(folder / "page.pdf"), "-"]
    on_paper = squeezed(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    place = 0
    for words in map(squeezed, said):
        found = on_paper.find(words, place)
        assert found >= 0, f"{words!r} is not on paper behind {on_paper[max(place - 80, 0) : place]!r}"
        place = found + len(words)
    numbers = NUMBER.findall(" ".join(said))
    assert NUMBER.findall("".join(letter for letter in page if letter not in SIGNS)) == numbers
    assert len(numbers) > 5


def nearest_report() -> NearestReport:
    matches = tuple(Match(record=record, member=None, distance=0.5 + record / 7) for record in range(3))
    return NearestReport(
        command="audit visual --synthetic set.npz --dataset digits",
        method="set.npz",
        dataset="digits",
        distances=(
            Nearness(
                name="l2",
                description="Euclidean distance of the pixels",
                num_images=1234,
                num_copies=7,
                smallest=0.512,
                median=1.5,
                largest=9.75,
            ),
        ),
        not_computed=(NotComputed(name="lpips", why="no weights are here"),),
        panel=tuple(Column(image=index, label=index, matches={"l2": matches}) for index in range(10)),
        num_sets=1,
        weights={},
        config={"dataset": "digits", "foreign": {"sets": ["set.npz"]}},
        versions={"torch": "2.15.0"},
        digest="9f86d081884c7d65",
        run_directory="visual-set.npz-digits-9f86d081884c",
        pdf="report.pdf",
    )


def membership(**changes: Any) -> Document:
    report, scores = whole_report(**changes)
    return build_membership(gather_membership(report, scores=scores, gallery=simulate_gallery()))


def plain() -> Document:
    report, scores = simulate_report(runs=12, records=60)
    return build_membership(gather_membership(report, scores=scores, gallery=Gallery(note="Not drawn.")))


def nearest() -> Document:
    return build_nearest(NearestMaterial(report=nearest_report(), pictures=Pictures(note="Left out.")))


def comparison() -> Document:
    report, scores = simulate_report(runs=12, records=60)
    several = [replace(report, method=f"method-{n}", claimed=CLAIM if n else None) for n in range(3)]
    materials = (gather_membership(each, scores=scores, gallery=Gallery()) for each in several)
    return build_comparison(several, materials)


@pytest.mark.parametrize("build", [membership, plain, nearest, comparison], ids=lambda build: build.__name__)
def test_paper_and_screen_say_the_same_in_the_same_order_against_blocks(build, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert_same_on_paper_and_screen(build(), tmp_path)


def test_an_untested_record_is_read_back_against_record() -> None:
    report = nearest_report()
    assert load_record(dump(report)) == report


def test_a_table_with_a_row_of_another_length_is_refused_against_message() -> None:
    with pytest.raises(ValueError, match="needs 1 cells"):
        Table(columns=(blocks.Column(title="a", share=1),), rows=(("1", "2"),))
    with pytest.raises(ValueError, match="not 'loud'"):
        Prose(text="x", kind="loud")
