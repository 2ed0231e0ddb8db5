"""The reports of `audit utility`, `audit continual` and `audit theory`: drawn, read back, redrawn, in a browser."""

import json
import shutil
from pathlib import Path

import pytest
from chromium import browse
from test_report_command import run
from test_report_renderings import assert_same_on_paper_and_screen
from test_report_screen import DESK, FAINT, PHONE, in_browser, show

import audit
from audit.engine.executor import InProcess
from audit.engine.where import Where
from audit.games.redraw import DrawOptions, material_of, read_run
from audit.games.run import run as run_game
from audit.specs.continual import Continual
from audit.specs.spec import Spec
from audit.specs.theory import Theory
from audit.specs.utility import Utility
from reports.documents.kinds import build_document
from reports.records.kinds import load_record
from reports.records.schema import dump

TRAINED = {"victim.width": "8", "batch": "5"}
SPECS: dict[str, Spec] = {
    "utility": Utility(
        methods=("real", "ldpdc"), ipc=(1, 2), epsilon=(1.0, 10.0), records=200, seeds=2, epochs=2,
        architectures=("mlp",), settings=TRAINED, device="cpu",
    ),
    "continual": Continual(
        method="ldpdc", records=200, ipc=1, epsilon=10.0, seeds=2, epochs=2, stages=5, settings=TRAINED, device="cpu"
    ),
    "theory": Theory(records=60, ipc=(2,), iterations=3),
}  # fmt: skip
FIGURES = {"utility": {"utility"}, "continual": {"stages"}, "theory": {"figure6", "figure7", "leave_one_out"}}


def measure(kind: str, out: Path) -> None:
    run_game(SPECS[kind], Where(out=out, executor=InProcess()), lambda _: None)  # type: ignore[call-overload]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    for kind in SPECS:
        measure(kind, out / kind)
    return out


@pytest.mark.parametrize("kind", SPECS)
def test_pages_are_drawn_again_from_the_record_against_bytes(kind, kept, tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    path = Path(shutil.copytree(kept / kind, tmp_path / "moved"))
    before = {file: file.read_bytes() for file in [*path.glob("report.*"), *path.glob("figures/*")]}
    assert {file.stem for file in path.glob("figures/*")} == FIGURES[kind]
    for file in before:
        if file.name != "report.json":
            file.unlink()
    code, out, _ = run(monkeypatch, capsys, str(path))
    assert code == 0
    assert out.split() == [str(path / "report.pdf"), str(path / "report.html")]
    assert {file: file.read_bytes() for file in before} == before


@pytest.mark.parametrize("kind", SPECS)
def test_equal_measurements_elsewhere_against_bytes(kind, kept, tmp_path) -> None:  # type: ignore[no-untyped-def]
    measure(kind, tmp_path / "another name")
    text = (tmp_path / "another name" / "report.json").read_text()
    assert text == (kept / kind / "report.json").read_text()
    assert str(tmp_path) not in text
    assert "seconds" not in text
    assert dump(load_record(text)) == text


@pytest.mark.parametrize("kind", SPECS)
def test_paper_and_screen_say_the_same_against_blocks(kind, kept, tmp_path) -> None:  # type: ignore[no-untyped-def]
    document = build_document(material_of(*read_run(kept / kind), DrawOptions(show_records=False, data_root=None)))
    assert_same_on_paper_and_screen(document, tmp_path)


@pytest.mark.parametrize("kind", SPECS)
def test_a_loaded_record_draws_itself_against_files(kind, kept, tmp_path) -> None:  # type: ignore[no-untyped-def]
    record = audit.load(kept / kind)
    assert record.to_pdf(tmp_path / "a.pdf").read_bytes() == (kept / kind / "report.pdf").read_bytes()
    page = record.to_html(tmp_path / "a.html").read_text()
    assert page == (kept / kind / "report.html").read_text()
    assert "1e-05" not in page
    assert str(record.pdf) in record._repr_html_()


def test_images_from_records_only_where_asked_against_names(kept) -> None:  # type: ignore[no-untyped-def]
    found = read_run(kept / "theory")
    for asked, starts in ((False, {"noise"}), (True, {"noise", "records"})):
        material = material_of(*found, DrawOptions(show_records=asked, data_root=None))
        assert {name.split()[-1] for name in material.pictures} == starts  # type: ignore[union-attr]


def test_what_has_no_adversary_is_compared_with_nothing_against_words(kept, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    code, _, err = run(monkeypatch, capsys, str(kept / "utility"), str(kept / "continual"))
    assert code == 2
    assert "holds no audit" in err
    assert err.count("\n") == 1


def test_a_damaged_record_is_one_line_against_words(kept, tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    path = Path(shutil.copytree(kept / "utility", tmp_path / "damaged"))
    stored = json.loads((path / "report.json").read_text())
    (path / "report.json").write_text(json.dumps({**stored, "rows": [{}]}))
    code, _, err = run(monkeypatch, capsys, str(path))
    assert code == 2
    assert "not a complete record" in err
    assert err.count("\n") == 1


@in_browser
def test_nothing_sticks_out_and_text_can_be_read_against_browser(kept) -> None:  # type: ignore[no-untyped-def]
    with browse() as browser:
        for kind in SPECS:
            for width in (DESK, PHONE):
                for scheme in ("light", "dark"):
                    show(browser, kept / kind / "report.html", width, scheme)
                    assert browser.run("document.documentElement.scrollWidth") <= width
                    assert browser.run(FAINT) == []
        assert browser.complaints() == []
        assert browser.requests() == []
