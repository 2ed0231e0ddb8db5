"""Pages in a real browser as wide as a desk's and a phone's, light and dark: nothing sticks out, all can be read."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from chromium import PROGRAM, Browser, browse
from matplotlib.figure import Figure as Sheet
from matplotlib.text import Text
from test_report_html import whole_report
from test_report_simulation import simulate_gallery

from reports.documents.blocks import Curves, Figure
from reports.documents.comparison import build_comparison
from reports.documents.membership import build_membership, gather_membership
from reports.figures.canvas import Canvas
from reports.figures.style import BLUE, GREY, INK, PAPER, RED_INK, house_style
from reports.figures.theme import DARK, adapt_to_screen
from reports.records.gallery import Gallery
from reports.render.html import NARROW, write_html

DESK, PHONE = 1280, 390
in_browser = pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed: the page cannot be tried in it")
# Text whose contrast to what is behind it is below 4.5 (WCAG 2.1, 1.4.3), with the ratio. Nothing here is transparent
# but for grounds that are not there at all.
FAINT = """(() => {
  const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const luminance = ([red, green, blue]) => [red, green, blue]
    .map((level) => level / 255)
    .map((level) => level <= 0.04045 ? level / 12.92 : ((level + 0.055) / 1.055) ** 2.4)
    .reduce((sum, level, place) => sum + level * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (element) => {
    for (let here = element; here; here = here.parentElement) {
      const colour = parse(getComputedStyle(here).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.getClientRects().length) continue;
    const [front, back] = [luminance(parse(getComputedStyle(element).color)), luminance(ground(element))];
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    if (ratio < 4.5) found.push([ratio, walker.currentNode.textContent.trim().slice(0, 40)]);
  }
  return found;
})()"""
# Cells of ε and of the verdict that lie beyond the right edge of the window before anything is scrolled.
HIDDEN = """(() => {
  const found = [];
  for (const table of document.querySelectorAll("table")) {
    if (!table.getClientRects().length) continue;
    Array.from(table.querySelectorAll("th")).forEach((head, place) => {
      if (!/^(certified ε|ε|verdict)$/.test(head.textContent)) return;
      for (const row of table.querySelectorAll("tbody tr")) {
        const cell = row.children[place];
        if (cell.getBoundingClientRect().right > innerWidth) found.push([head.textContent, cell.textContent]);
      }
    });
  }
  return found;
})()"""
# How many pixels of the screen a point of each visible drawing is.
SCALES = """(() => {
  const drawings = Array.from(document.querySelectorAll("figure.drawn img")).map((image) => {
    const narrow = image.currentSrc !== image.src;
    return image.clientWidth / Number((narrow ? image.previousElementSibling : image).getAttribute("width"));
  });
  const curves = Array.from(document.querySelectorAll("figure.plot svg:not([hidden])"))
    .map((picture) => picture.clientWidth / picture.viewBox.baseVal.width);
  return [...drawings, ...curves].filter((scale) => scale > 0);
})()"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    report, scores = whole_report()
    one = gather_membership(report, scores=scores, gallery=simulate_gallery())
    write_html(build_membership(one), folder / "one.html")
    verdicts = ("REFUTED", "NOT REFUTED", "NO CLAIM")
    several = [replace(report, verdict=verdict, method="a-method-with-a-name") for verdict in verdicts]
    materials = (gather_membership(each, scores=scores, gallery=Gallery(note="Not drawn.")) for each in several)
    write_html(build_comparison(several, materials), folder / "several.html")
    return {path.stem: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browse() as running:
        yield running


def show(browser: Browser, page: Path, width: int, scheme: str) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", **size)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.open(page)
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")


@in_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESK, PHONE])
def test_nothing_sticks_out_and_text_can_be_read_against_browser(browser, pages, width: int, scheme: str) -> None:  # type: ignore[no-untyped-def]
    for page in pages.values():
        show(browser, page, width, scheme)
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run(FAINT) == []
        assert browser.run(HIDDEN) == []
        paper = browser.run("getComputedStyle(document.documentElement).backgroundColor")
        assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 26)")


@in_browser
def test_type_in_figures_is_legible_on_a_phone_against_pixels(browser, pages) -> None:  # type: ignore[no-untyped-def]
    """No figure has type smaller than 7 points (below): that is 10 pixels or more."""
    for page in pages.values():
        show(browser, page, PHONE, "light")
        scales = browser.run(SCALES)
        assert scales
        assert min(scales) * 7 >= 10


@in_browser
def test_figures_follow_the_scheme_against_pixels(browser, pages) -> None:  # type: ignore[no-untyped-def]
    """The corner of a drawing, and of one within a drawing, is as dark as the page."""
    read = """(async () => {
      const levels = [];
      for (const source of [document.querySelector("figure.drawn img").currentSrc,
                            document.querySelector("figure.plot image").getAttribute("href")]) {
        const picture = new Image();
        picture.src = source;
        await picture.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [8, 8];
        const pen = canvas.getContext("2d");
        pen.drawImage(picture, 0, 0);
        levels.push(Array.from(pen.getImageData(1, 1, 1, 1).data).slice(0, 3));
      }
      return levels;
    })()"""
    for scheme, paper in (("light", PAPER), ("dark", DARK[PAPER])):
        show(browser, pages["one"], DESK, scheme)
        answer = browser.call("Runtime.evaluate", expression=read, returnByValue=True, awaitPromise=True)
        expected = [int(paper[start : start + 2], 16) for start in (1, 3, 5)]
        assert answer["result"]["value"] == [expected, expected]


def contrast(one: str, other: str) -> float:
    """By WCAG 2.1."""

    def luminance(colour: str) -> float:
        levels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [level / 12.92 if level <= 0.04045 else ((level + 0.055) / 1.055) ** 2.4 for level in levels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_type_in_figures_and_on_paper_has_contrast_against_formula() -> None:
    for colour in (INK, GREY, RED_INK, BLUE):
        assert contrast(colour, PAPER) >= 4.5
        assert contrast(DARK[colour], DARK[PAPER]) >= 4.5


def test_every_colour_of_a_drawing_gets_a_dark_one_against_text() -> None:
    svg = f'<svg width="1"><path style="fill: {PAPER.lower()}; stroke: #123456"/><rect fill="{INK.lower()}"/></svg>'
    drawn = adapt_to_screen(svg)
    assert PAPER.lower() not in drawn.split("</style>")[1]
    assert "stroke: #123456" in drawn
    assert drawn.count("var(--c") == 2
    for colour in (PAPER, INK):
        assert DARK[colour] in drawn.split("@media")[1]


def test_no_figure_has_small_type_against_sizes() -> None:
    report, scores = whole_report()
    document = build_membership(gather_membership(report, scores=scores, gallery=simulate_gallery()))
    drawn = [block.plot for block in document.blocks if isinstance(block, Figure)]
    drawn += [scale.plot for block in document.blocks if isinstance(block, Curves) for scale in block.scales]
    assert len(drawn) > 5
    for plot in drawn:
        with house_style():
            sheet = Sheet(figsize=(NARROW / 72, plot.height(NARROW) / 72))
            plot.draw(Canvas(sheet=sheet, left=0.0, top=0.0, width=NARROW))
            sizes = [text.get_fontsize() for text in sheet.findobj(Text) if text.get_text().strip()]
        assert min(sizes) >= 7, plot.alt
