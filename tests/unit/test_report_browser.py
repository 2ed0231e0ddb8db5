"""The page in a real browser: it answers mouse and keys, switches, complains of nothing, asks for nothing."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from chromium import PROGRAM, Browser, browse
from test_report_html import HOSTILE, whole_report
from test_report_simulation import simulate_gallery

from reports.documents.comparison import build_comparison
from reports.documents.membership import build_membership, gather_membership
from reports.records.gallery import Gallery
from reports.render.html import write_html

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed: the page cannot be tried in it")
SHOWN = "Array.from(document.querySelectorAll('section.run')).filter((run) => !run.hidden).map((run) => run.id)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browse() as running:
        yield running


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    report, scores = whole_report()
    one = gather_membership(report, scores=scores, gallery=simulate_gallery())
    write_html(build_membership(one), folder / "one.html")
    named = replace(report, method=HOSTILE, dataset=HOSTILE, level=HOSTILE, command=HOSTILE)
    several = [report, replace(report, level="model"), replace(report, level="model", method="other"), named]
    materials = (gather_membership(each, scores=scores, gallery=Gallery(note=HOSTILE)) for each in several)
    write_html(build_comparison(several, materials), folder / "several.html")
    return {path.stem: path for path in folder.iterdir()}


@pytest.fixture(autouse=True)
def quiet(browser: Browser) -> Iterator[None]:
    """No exception, no word in the console, no request, whatever a test does."""
    browser.events.clear()
    yield
    assert browser.complaints() == []
    assert browser.requests() == []


def tip(browser: Browser, figure: str) -> list[str]:
    """What the tooltip says, nothing where it is hidden."""
    return browser.run(
        f"(() => {{ const tip = document.querySelector('#{figure} .tip');"
        " return getComputedStyle(tip).visibility === 'visible'"
        " ? Array.from(tip.children).map((row) => row.textContent) : []; })()"
    )


def test_hovering_tells_rates_interval_and_what_is_allowed_against_words(browser: Browser, pages) -> None:  # type: ignore[no-untyped-def]
    browser.open(pages["one"])
    assert tip(browser, "roc-0") == []
    told = []
    for across in (0.3, 0.6, 0.9):
        browser.mouse("mouseMoved", *browser.centre("#roc-0 svg:not([hidden])", across))
        told.append(tip(browser, "roc-0"))
    for rows in told:
        assert [row.split()[0] for row in rows[:4]] == ["FPR", "TPR", "95%", "allowed:"]
    rates = [float(rows[0].split()[1].rstrip("%")) for rows in told]
    assert 0 < rates[0] < rates[1] < rates[2] < 100
    browser.mouse("mouseMoved", 2, 2)
    assert tip(browser, "roc-0") == []


def test_the_words_at_a_rate_are_those_of_the_record_against_curve(browser: Browser, pages) -> None:  # type: ignore[no-untyped-def]
    report, _ = whole_report()
    browser.open(pages["one"])
    browser.run("document.querySelector('#roc-0 svg:not([hidden])').focus()")
    browser.press("Home")
    for index in range(1, 4):
        browser.press("ArrowRight")
        rows = tip(browser, "roc-0")
        rate = 100 * report.roc.curve["false_positive_rate"][index]
        assert float(rows[0].removeprefix("FPR ").removesuffix("%")) == pytest.approx(rate, rel=5e-3)
    browser.press("End")
    assert tip(browser, "roc-0")[:2] == ["FPR 100%", "TPR 100.000%"]
    browser.press("ArrowRight")
    assert tip(browser, "roc-0")[0] == "FPR 100%"
    browser.press("Escape")
    assert tip(browser, "roc-0") == []


def test_axes_are_switched_against_shown_picture(browser: Browser, pages) -> None:  # type: ignore[no-untyped-def]
    browser.open(pages["one"])
    pictures = "Array.from(document.querySelectorAll('#roc-0 svg'))"
    shown = f"{pictures}.filter((picture) => picture.clientHeight > 0).map((picture) => picture.dataset.scale)"
    assert browser.run(shown) == ["logarithmic"]
    browser.click("#roc-0 input[value=linear]")
    assert browser.run(shown) == ["linear"]
    browser.mouse("mouseMoved", *browser.centre("#roc-0 svg:not([hidden])", 0.5))
    assert 30 < float(tip(browser, "roc-0")[0].split()[1].rstrip("%")) < 70


def test_levels_and_audits_are_switched_against_shown_section(browser: Browser, pages) -> None:  # type: ignore[no-untyped-def]
    browser.open(pages["several"])
    assert browser.run(SHOWN) == ["run-1"]
    browser.click("input[name=level][value=model]")
    assert browser.run(SHOWN) == ["run-2"]
    assert browser.run("location.hash") == "#run-2"
    browser.run("document.getElementById('run').focus()")
    browser.press("ArrowDown")
    browser.wait(lambda: browser.run(SHOWN) == ["run-3"])
    browser.click("input[name=level][value=set]")
    assert browser.run(SHOWN) == ["run-1"]
    browser.mouse("mouseMoved", *browser.centre("#roc-all svg:not([hidden])", 0.6))
    assert len(tip(browser, "roc-all")) == 5


def test_an_address_with_an_audit_opens_it_and_hostile_names_stay_words_against_text(browser: Browser, pages) -> None:  # type: ignore[no-untyped-def]
    browser.open(pages["several"], "#run-4")
    assert browser.run(SHOWN) == ["run-4"]
    assert "<script>alert(1)</script>" in browser.run("document.querySelector('#run-4 h2').textContent")
    assert browser.run("document.querySelectorAll('img:not([src^=\"data:image/\"])').length") == 0


def test_the_policy_stops_what_would_reach_out_or_run_against_browser(browser: Browser, pages, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A page into which somebody wrote markup by hand: nothing of it acts."""
    planted = "<script>window.acted = 1</script><img src='http://127.0.0.1:9/x.png' onerror='window.acted = 2'>"
    page = pages["one"].read_text(encoding="utf-8").replace("<main>", f"<main>{planted}")
    (tmp_path / "planted.html").write_text(page, encoding="utf-8")
    browser.open(tmp_path / "planted.html")
    assert browser.run("window.acted === undefined")
    refusals = [event["params"]["entry"]["text"] for event in browser.named("Log.entryAdded")]
    assert len(refusals) >= 2
    assert all("Content Security Policy" in text for text in refusals)
    browser.events.clear()


def test_a_narrow_window_does_not_scroll_sideways_against_width(browser: Browser, pages) -> None:  # type: ignore[no-untyped-def]
    for name in ("one", "several"):
        browser.open(pages[name])
        for width in (390, 1280):
            size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
            browser.call("Emulation.setDeviceMetricsOverride", **size)
            wide = browser.run("document.documentElement.scrollWidth")
            browser.call("Emulation.clearDeviceMetricsOverride")
            assert wide <= width
