"""`audit report` on the runs of `audit visual` and `audit worst-case`, alone and beside others."""

import base64
import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from chromium import PROGRAM, browse
from matplotlib.figure import Figure
from test_report_command import run, write_run
from test_report_html import HOSTILE, Skeleton
from test_report_pdf import pages_of, text_of
from test_report_renderings import assert_same_on_paper_and_screen
from test_worst_case import experiment

from audit.cli import main
from audit.data.load import load_pool
from audit.engine.executor import InProcess
from audit.engine.store import RunDirectory
from audit.engine.where import Where
from audit.games.redraw import DrawOptions, material_of, read_run
from audit.games.transcript.record import draw_worst_case, run_worst_case
from reports.documents.blocks import Curves
from reports.documents.kinds import AnyMaterial, build_document
from reports.documents.visual import VisualMaterial
from reports.documents.worst_case import WorstCaseMaterial
from reports.figures.canvas import Canvas
from reports.records.allowed import allowed_at
from reports.records.gallery import Pictures
from reports.records.kinds import load_record
from reports.records.schema import dump
from reports.records.worst_case import WorstCaseReport, corners_of
from reports.render.html import write_html
from reports.render.pdf import write_figures, write_pdf
from reports.render.sheets import TEXT_WIDTH
from reports.words.attempts import shown_attempts
from reports.words.worst_case import marks_of

RECORDS = 60


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three audits: one that refutes, one that does not, one by looking."""
    out = tmp_path_factory.mktemp("runs")
    for name, trials, changes in (("dyn-psg", 200, {"noise_multiplier": 6.178}), ("ldpdc", 1000, {})):
        asked = experiment(name, trials, **changes)
        report = run_worst_case(
            asked, f"audit worst-case --method {name}", Where(out=out, executor=InProcess()), lambda _: None
        )
        draw_worst_case(report, RunDirectory(Path(report.run_directory)))
    argv = sys.argv
    options = ["--records", str(RECORDS), "--runs", "2", "--set", "iterations=2", "--set", "width=4"]
    sys.argv = ["audit", "visual", "--distance", "l2", "--out", str(out), *options]
    try:
        with pytest.raises(SystemExit):
            main()
    finally:
        sys.argv = argv
    return out


@pytest.fixture
def runs(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "runs"))


def one(runs: Path, kind: str) -> Path:
    (path,) = runs.glob(f"{kind}-*")
    return path


def record_of(runs: Path, kind: str) -> WorstCaseReport:
    report = read_run(one(runs, kind))[1]
    assert isinstance(report, WorstCaseReport)
    return report


@pytest.mark.parametrize("kind", ["worst-case-dyn-psg", "worst-case-ldpdc", "visual"])
def test_pages_are_drawn_again_from_what_the_directory_holds_against_bytes(kind, runs, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    path = one(runs, kind)
    before = {file: file.read_bytes() for file in [*path.glob("report.*"), *path.glob("figures/*")]}
    assert {file.name for file in before} >= {"report.json", "report.pdf", "report.html"}
    for file in before:
        if file.name != "report.json":
            file.unlink()
    code, out, _ = run(monkeypatch, capsys, str(path), "--json")
    (answer,) = json.loads(out)["reports"]
    assert code == 0
    assert answer["verdict"] == json.loads(before[path / "report.json"])["verdict"]
    assert {file: file.read_bytes() for file in before} == before


def test_a_worst_case_needs_its_record_only_against_bytes(runs, tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    path, alone = one(runs, "worst-case-ldpdc"), tmp_path / "alone"
    alone.mkdir()
    shutil.copy(path / "report.json", alone)
    assert run(monkeypatch, capsys, str(alone))[0] == 0
    for name in ("report.pdf", "report.html", "figures/tradeoff.png"):
        assert (alone / name).read_bytes() == (path / name).read_bytes()


def test_the_pages_say_what_the_record_says_against_text(runs) -> None:  # type: ignore[no-untyped-def]
    for kind in ("worst-case-dyn-psg", "worst-case-ldpdc"):
        path, report = one(runs, kind), record_of(runs, kind)
        texts = [text_of(path / "report.pdf"), Skeleton((path / "report.html").read_text(encoding="utf-8")).text]
        tightness = (
            "Not available: the noise depends" if report.tightness is None else f"{report.tightness - 5e-4:.3f}"[:5]
        )
        for text in texts:
            assert report.verdict in text
            assert "by RDP" in text
            assert "by PLD" in text
            assert tightness in text
            assert f"audit worst-case --method {report.method}" in text
            assert text.index(report.verdict) < text.index("Certified ε and the claim")
            for bound in report.bounds:
                assert bound.estimator in text
            for number, attempt in shown_attempts(report):
                assert attempt.score.split()[0] in text  # cells are wrapped
                assert attempt.design in text
                assert str(number) in text
            assert ("None lies outside here" in text) != ("outside and refute" in text)
        assert pages_of(path / "report.pdf") <= 5


def test_paper_and_screen_say_the_same_in_the_same_order_against_blocks(runs, tmp_path) -> None:  # type: ignore[no-untyped-def]
    options = DrawOptions(show_records=False, data_root=None)
    for path in runs.glob("*-*"):
        assert_same_on_paper_and_screen(build_document(material_of(*read_run(path), options)), tmp_path)


def test_a_corner_lies_outside_the_region_exactly_where_its_attempt_refutes_against_record(runs) -> None:  # type: ignore[no-untyped-def]
    """The drawn curve is on a grid, with chords below the true allowance: a refuting corner is above it even so."""
    outside = []
    for kind in ("worst-case-dyn-psg", "worst-case-ldpdc"):
        report = record_of(runs, kind)
        assert report.tradeoff is not None
        for corner, attempt in zip(corners_of(report), report.attempts, strict=True):
            allowed = float(allowed_at(report.tradeoff, np.array([corner.false_positive_rate]))[0])
            assert allowed == pytest.approx(1 - attempt.test.allowed_false_negative_rate, abs=2e-3)
            assert (corner.true_positive_rate > allowed) == attempt.test.refuted == corner.outside
            outside.append(corner.outside)
    assert any(outside)
    assert not all(outside)


def test_marks_of_one_place_share_their_numbers_against_attempts(runs) -> None:  # type: ignore[no-untyped-def]
    report = record_of(runs, "worst-case-dyn-psg")
    names = [name for name, _ in marks_of(report)]
    numbers = sorted(int(number) for name in names for number in name.split(", "))
    assert numbers == [number for number, _ in shown_attempts(report)]
    blocks = build_document(WorstCaseMaterial(report=report)).blocks
    (curves,) = (block for block in blocks if isinstance(block, Curves))
    sheet = Figure(figsize=(8, 8))
    curves.plot.draw(Canvas(sheet=sheet, left=0.0, top=0.0, width=TEXT_WIDTH))
    logarithmic, linear = (
        [text.get_text() for text in axes.texts if "AUC" not in text.get_text()] for axes in sheet.axes
    )
    assert linear == names
    assert logarithmic == []  # there they would lie upon each other
    assert [scale.name for scale in curves.scales] == ["linear", "logarithmic"]


def test_more_trials_start_from_this_audit_and_buy_more_against_bound(runs) -> None:  # type: ignore[no-untyped-def]
    for kind in ("worst-case-dyn-psg", "worst-case-ldpdc"):
        report = record_of(runs, kind)
        bound = next(each for each in report.bounds if each.estimator == "clopper-pearson")
        first = report.outlook[0]
        assert (first.lower_at_same_rates, first.ceiling) == pytest.approx((bound.lower, bound.ceiling))
        ceilings = [step.ceiling for step in report.outlook]
        assert ceilings == sorted(set(ceilings))


def test_a_record_without_curve_is_drawn_without_it_against_text(runs, tmp_path) -> None:  # type: ignore[no-untyped-def]
    raw = json.loads((one(runs, "worst-case-ldpdc") / "report.json").read_text())
    for name in ("roc", "tradeoff", "outlook", "utility", "pdf"):
        del raw[name]
    report = load_record(json.dumps(raw))
    assert isinstance(report, WorstCaseReport)
    document = build_document(WorstCaseMaterial(report=report))
    write_pdf(document, tmp_path / "report.pdf")
    write_figures(document, tmp_path / "figures")
    assert "What the claim allows" not in text_of(tmp_path / "report.pdf")  # no heading without content
    write_html(document, tmp_path / "report.html")
    assert "tradeoff-0" not in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not (tmp_path / "figures").exists()


def test_records_of_every_kind_are_read_back_against_text(runs) -> None:  # type: ignore[no-untyped-def]
    for path in runs.glob("*-*"):
        text = (path / "report.json").read_text()
        assert dump(load_record(text)) == text


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("visual", {"distances": 1}, "not a complete record"),
        ("visual", {"verdict": "SAFE"}, "SAFE"),
        ("visual", {"unknown": 1}, "unknown"),
        ("worst-case-ldpdc", {"attempts": [{}]}, "not a complete record"),
        ("worst-case-ldpdc", {"schema": "other"}, "other"),
    ],
    ids=str,
)
def test_a_damaged_record_is_one_line_against_cases(kind, change, said, runs, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    file = one(runs, kind) / "report.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    code, out, err = run(monkeypatch, capsys, str(file.parent))
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_real_images_only_where_asked_and_only_the_audited_ones_against_pixels(runs, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    path = one(runs, "visual")
    hidden = (path / "report.html").read_bytes()
    assert run(monkeypatch, capsys, str(path), "--show-records")[0] == 0
    shown = (path / "report.html").read_bytes()
    assert b"THESE ARE REAL RECORDS" in shown
    assert b"THESE ARE REAL RECORDS" not in hidden
    panel = json.loads((path / "report.json").read_text())["panel"]
    records = sum(len(near) for column in panel for near in column["matches"].values())
    # Every figure is there for wide windows and for phones.
    assert pictures_in(hidden) == 2 * len(panel)
    assert pictures_in(shown) == 2 * (len(panel) + records)
    file = path / "report.json"
    record = json.loads(file.read_text())
    file.write_text(json.dumps({**record, "config": {**record["config"], "records": RECORDS + 10}}))
    code, _, err = run(monkeypatch, capsys, str(path), "--show-records")
    assert code == 2
    assert "has changed" in err
    assert load_pool("digits", records=RECORDS).num_records == RECORDS


@pytest.mark.parametrize(
    ("spoil", "code", "said"),
    [
        (lambda path: (path / "synthetic.safetensors").unlink(), 0, "no synthetic sets"),
        (lambda path: (path / "synthetic.safetensors").write_bytes(b"x" * 40), 2, "cannot be read"),
    ],
    ids=["missing", "damaged"],
)
def test_visual_sets_that_are_gone_or_damaged_against_cases(spoil, code, said, runs, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    path = one(runs, "visual")
    spoil(path)
    found, _, err = run(monkeypatch, capsys, str(path))
    assert found == code
    assert said in (err if code else (path / "report.html").read_text(encoding="utf-8"))
    assert err.count("\n") <= 1


def test_what_cannot_be_shown_or_drawn_is_one_line_against_cases(runs, tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    code, _, err = run(monkeypatch, capsys, str(one(runs, "worst-case-ldpdc")), "--show-records")
    assert code == 2
    assert "no real ones to show" in err
    unfinished = tmp_path / "utility"
    (unfinished / "cells").mkdir(parents=True)
    code, _, err = run(monkeypatch, capsys, str(unfinished))
    assert code == 2
    assert "its measurement is not finished" in err


def pictures_in(page: bytes) -> int:
    """How many pictures the drawings of a page hold."""
    drawings = re.findall(rb'"data:image/svg\+xml;base64,([^"]*)"', page)
    return sum(base64.b64decode(drawing).count(b"<image ") for drawing in drawings)


def mixed(runs: Path) -> list[str]:
    write_run(runs / "lira-dm-digits-1", initial=-1)
    return [str(path) for path in sorted(runs.glob("*-*"))]


def test_a_mixture_is_a_comparison_with_a_section_each_against_text(runs, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    paths = mixed(runs)
    code, out, _ = run(monkeypatch, capsys, *paths, "--json")
    answer = json.loads(out)
    assert code == 0
    page = Path(answer["comparison"]["html"]).read_text(encoding="utf-8")
    assert page.count('<section class="run"') == len(paths) == 4
    text = text_of(Path(answer["comparison"]["pdf"]))
    names = ["AUDIT 1 dm on digits", "AUDIT 2 dm on digits", "AUDIT 3 dyn-psg, worst case", "AUDIT 4 ldpdc, worst case"]
    for name in names:
        assert name in text
    for words in (text, Skeleton(page).text):
        assert "dyn-psg ≥" in words.replace("\u00a0", " ")
        assert "rests on tests of the whole trade-off curve" in words
    before = {name: Path(path).read_bytes() for name, path in answer["comparison"].items()}
    run(monkeypatch, capsys, *paths)
    assert {name: Path(path).read_bytes() for name, path in answer["comparison"].items()} == before


def test_hostile_names_change_words_and_nothing_else_against_tags(runs, tmp_path) -> None:  # type: ignore[no-untyped-def]
    names = ("method", "command", "digest", "run_directory", "verdict_reason")

    def tags(material: AnyMaterial) -> list[tuple[str, tuple[str, ...]]]:
        write_html(build_document(material), tmp_path / "page.html")
        return Skeleton((tmp_path / "page.html").read_text(encoding="utf-8")).tags

    worst = record_of(runs, "worst-case-dyn-psg")
    looked = read_run(one(runs, "visual"))[1]
    for report, wrap in (
        (worst, lambda each: WorstCaseMaterial(report=each)),
        (looked, lambda each: VisualMaterial(report=each, pictures=Pictures(note="x"))),
    ):
        plain, hostile = (replace(report, **dict.fromkeys(names, name)) for name in ("plain", HOSTILE))
        assert tags(wrap(plain)) == tags(wrap(hostile))


@pytest.fixture
def pages(runs: Path, monkeypatch, capsys) -> dict[str, Path]:  # type: ignore[no-untyped-def]
    assert run(monkeypatch, capsys, *mixed(runs), "--format", "html")[0] == 0
    kinds = ("worst-case-dyn-psg", "visual")
    return {**{kind: one(runs, kind) / "report.html" for kind in kinds}, "all": runs / "comparison.html"}


@pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed: the page cannot be tried in it")
def test_the_pages_answer_and_complain_of_nothing_against_browser(pages) -> None:  # type: ignore[no-untyped-def]
    shown = "Array.from(document.querySelectorAll('section.run')).filter((run) => !run.hidden).map((run) => run.id)"
    with browse() as browser:
        for kind, figure in (("worst-case-dyn-psg", "#tradeoff-0"), ("visual", "#roc-0")):
            rows = f"Array.from(document.querySelectorAll('{figure} .tip div'))"
            told = f"{rows}.map((row) => row.textContent.split(' ')[0])"
            browser.open(pages[kind])
            browser.mouse("mouseMoved", *browser.centre(f"{figure} svg:not([hidden])", 0.6))
            assert browser.run(told)[:3] == ["FPR", "TPR", "95%"]
            browser.click(f"{figure} input[value=linear]")
            assert browser.run(f"document.querySelectorAll('{figure} svg:not([hidden])').length") == 1
            browser.mouse("mouseMoved", 2, 2)
            browser.open(pages[kind])
            size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": False}
            browser.call("Emulation.setDeviceMetricsOverride", **size)
            assert browser.run("document.documentElement.scrollWidth") <= 390
            browser.call("Emulation.clearDeviceMetricsOverride")
        browser.open(pages["all"])
        assert browser.run(shown) == ["run-1"]
        browser.click("input[name=level][value=transcript]")
        assert browser.run(shown) == ["run-3"]
        assert browser.complaints() == []
        assert browser.requests() == []
