"""The files that are written: whole, the same for the same audit, and saying what the record says."""

import math
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO

import matplotlib
import numpy as np
import pandas as pd
import pytest
from test_report_simulation import CLAIM, PROTOCOL, simulate_gallery, simulate_report

from reports.documents.membership import build_membership, gather_membership
from reports.records.gallery import Gallery
from reports.records.schema import Report, dump, load
from reports.render import pdf
from reports.render.pdf import write_figures, write_pdf

SIZE = {"runs": 128, "records": 1797}
FIGURES = ("roc.png", "scores.png", "synthetic.png")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Path]:
    """An audit as large as 128 test runs on digits, drawn within its budget."""
    report, scores = simulate_report(**SIZE)
    folder = tmp_path_factory.mktemp("drawn")
    started = time.process_time()
    draw_pdf(report, scores, simulate_gallery(), folder / "report.pdf")
    assert time.process_time() - started < 15
    return report, folder


def draw_pdf(report: Report, scores: pd.DataFrame, gallery: Gallery, path: Path) -> None:
    document = build_membership(gather_membership(report, scores=scores, gallery=gallery))
    write_pdf(document, path)
    write_figures(document, path.parent / "figures")


def text_of(path: Path) -> str:
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext (poppler-utils) is not installed: the text of the PDF cannot be read")
    done = subprocess.run(["pdftotext", "-layout", str(path), "-"], capture_output=True, check=True, text=True)
    return re.sub(r"\s+", " ", done.stdout)


def pages_of(path: Path) -> int:
    return len(re.findall(rb"/Type /Page\b(?!s)", path.read_bytes()))


def test_the_same_audit_gives_the_same_bytes_from_memory_and_from_its_file_against_bytes(
    drawn: tuple[Report, Path], tmp_path: Path
) -> None:
    report, folder = drawn
    scores = simulate_report(**SIZE)[1]
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "yellow", "pdf.fonttype": 3}):
        draw_pdf(load(dump(report)), scores, simulate_gallery(), tmp_path / "report.pdf")
        assert matplotlib.rcParams["font.size"] == 20
    assert (tmp_path / "report.pdf").read_bytes() == (folder / "report.pdf").read_bytes()
    for name in FIGURES:
        assert (tmp_path / "figures" / name).read_bytes() == (folder / "figures" / name).read_bytes()


def test_files_are_whole_dateless_and_alone_against_format(drawn: tuple[Report, Path]) -> None:
    _, folder = drawn
    content = (folder / "report.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")
    assert b"CreationDate" not in content
    assert b"/Type3" not in content
    assert b"/MediaBox [ 0 0 595.28 841.89 ]" in content
    assert pages_of(folder / "report.pdf") == 4
    assert sorted(path.name for path in folder.iterdir()) == ["figures", "report.pdf"]
    assert sorted(path.name for path in (folder / "figures").iterdir()) == sorted(FIGURES)
    for name in FIGURES:
        assert (folder / "figures" / name).read_bytes().startswith(b"\x89PNG")


def test_pages_say_what_the_record_says_against_text(drawn: tuple[Report, Path]) -> None:
    report, folder = drawn
    text = text_of(folder / "report.pdf")
    assert text.index(report.verdict) < text.index("Key numbers") < text.index("How to repeat")
    for words in (
        f"ε ≥ {math.floor(100 * report.epsilon.lower) / 100:.2f}",
        f"The ceiling is {math.floor(100 * report.epsilon.ceiling) / 100:.2f}",
        "95% confidence",
        "NO BOUND",
        report.command,
        report.digest,
        "torch 2.15.0",
        "set (audited here): the released synthetic set",
        "audit report RUN_DIR --show-records",
        "What this audit does not show",
        f"{report.roc.auc:.2f}",
        "page 4 of 4",
    ):
        assert words in text, words
    for record in report.exposed:
        assert f"{record.record} {record.label} {record.auc:.3f}" in text


def test_an_audit_of_odd_measures_is_drawn_against_text(tmp_path: Path) -> None:
    """No leak, no ceiling, a claim, no utility, few colour images, rates of zero on logarithmic axes."""
    report, scores = simulate_report(runs=6, records=40, leak=0.0)
    curve = {**report.roc.curve, "lower": [0.0] * len(report.roc.curve["lower"])}
    curve["true_positive_rate"] = [rate if rate > 0.2 else 0.0 for rate in curve["true_positive_rate"]]
    report = replace(
        report,
        epsilon=replace(report.epsilon, lower=0.0, ceiling=math.inf),
        roc=replace(
            report.roc,
            curve=curve,
            tpr_at_fpr={"0.001": 0.0, "0.01": 0.0},
            tpr_at_fpr_interval={"0.001": (0.0, 0.0), "0.01": (0.0, 0.1)},
        ),
        claimed=CLAIM,
        verdict="NOT REFUTED",
        utility=None,
        exposed=(),
        protocols=(PROTOCOL,),
        paper_style_epsilon=None,
        bounds=(report.epsilon,),
        game=replace(report.game, membership_shuffled=True),
    )
    gallery = simulate_gallery(shape=(32, 32, 3), classes=2, per_class=1)
    draw_pdf(report, scores, gallery, tmp_path / "report.pdf")
    text = text_of(tmp_path / "report.pdf")
    for words in ("NOT REFUTED", "≥ 0.00", "no ceiling", "≤ 5.62", "not measured", "CONTROL", "1.2%"):
        assert words in text, words


def test_what_must_not_be_shown_is_not_there_and_an_old_picture_goes_against_bytes(
    drawn: tuple[Report, Path], tmp_path: Path
) -> None:
    shutil.copytree(drawn[1], tmp_path, dirs_exist_ok=True)
    assert b"/Subtype /Image" in (tmp_path / "report.pdf").read_bytes()
    report, scores = simulate_report(runs=6, records=40)
    draw_pdf(report, scores, Gallery(note="Left out."), tmp_path / "report.pdf")
    assert b"/Subtype /Image" not in (tmp_path / "report.pdf").read_bytes()
    assert not (tmp_path / "figures" / "synthetic.png").exists()


def test_a_file_that_cannot_be_finished_leaves_the_old_one_against_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, scores = simulate_report(runs=6, records=40)
    (tmp_path / "report.pdf").write_bytes(b"old")

    def run_out_of_room(stream: IO[bytes], *_: object) -> None:
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pdf, "_save", run_out_of_room)
    with pytest.raises(OSError, match="No space left"):
        draw_pdf(report, scores, Gallery(), tmp_path / "report.pdf")
    assert [path.name for path in tmp_path.iterdir()] == ["report.pdf"]
    assert (tmp_path / "report.pdf").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda gallery: replace(gallery, exposed=np.zeros((2, 8, 8, 1), np.float32)), "2 images for 16"),
        (None, "not of the same audit"),
    ],
)
def test_inputs_that_do_not_fit_write_nothing_against_cases(
    spoil: Callable[[Gallery], Gallery] | None, says: str, tmp_path: Path
) -> None:
    report, scores = simulate_report(runs=6, records=40)
    gallery = simulate_gallery()
    if spoil is None:
        scores = scores.assign(member=~scores["member"])
    else:
        gallery = spoil(gallery)
    with pytest.raises(ValueError, match=says):
        draw_pdf(report, scores, gallery, tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []
