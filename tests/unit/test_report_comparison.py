"""Several audits in one file: every one has its page, the bytes are the same each time, the memory does not grow."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from test_report_command import run, write_run
from test_report_html import OUTLOOK
from test_report_pdf import pages_of, text_of
from test_report_simulation import CLAIM, simulate_report

from reports.documents.comparison import build_comparison, drawn_curves
from reports.documents.membership import gather_membership
from reports.figures.curves import MOST_CURVES
from reports.records.gallery import Gallery
from reports.records.schema import Ladder, LadderRow, dump, load
from reports.render.pdf import write_pdf
from reports.words.membership import explain_outlook

# Peak memory in MiB after the comparison of as many copies of one run directory.
MEASURE = """
import sys
from pathlib import Path
import pandas as pd
from reports.documents.comparison import build_comparison
from reports.documents.membership import gather_membership
from reports.records.gallery import Gallery
from reports.records.schema import load
from reports.render.html import write_html
from reports.render.pdf import write_pdf
folder, number = Path(sys.argv[1]), int(sys.argv[2])
report = load((folder / "report.json").read_text(encoding="utf-8"))
def materials():
    for _ in range(number):
        yield gather_membership(report, scores=pd.read_parquet(folder / "scores.parquet"), gallery=Gallery())
write_pdf(build_comparison([report] * number, materials()), folder / "comparison.pdf")
write_html(build_comparison([report] * number, materials()), folder / "comparison.html")
print(int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024)
"""


def test_several_runs_become_one_comparison_against_files(tmp_path: Path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    first, second = (write_run(tmp_path / f"lira-dm-digits-{n}", initial=-1) for n in (1, 2))
    second.shard(0).unlink()
    code, out, _ = run(monkeypatch, capsys, str(first.path), str(second.path), "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["comparison"] == {name: str(tmp_path / f"comparison.{name}") for name in ("pdf", "html")}
    assert [entry["run_directory"] for entry in answer["reports"]] == [str(first.path), str(second.path)]
    assert not first.pdf.exists()
    assert not first.html.exists()
    before = {name: (tmp_path / f"comparison.{name}").read_bytes() for name in ("pdf", "html")}
    assert before["html"].count(b'<section class="run"') == 2
    assert before["html"].count(b"Synthetic set of one run") == 2
    assert before["html"].count(b"no shards") == 1
    there = tmp_path / "there"
    arguments = (str(first.path), str(second.path), "--out", str(there))
    code, out, _ = run(monkeypatch, capsys, *arguments)
    assert out.splitlines() == [str(there / f"comparison.{name}") for name in ("pdf", "html")]
    assert {name: (there / f"comparison.{name}").read_bytes() for name in before} == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--format", "png"), "--format 'png': choose from pdf, html"),
        (("--format", ","), "choose from pdf, html"),
        (("--out", "x"), "--out is for the comparison"),
    ],
)
def test_bad_options_are_one_line_against_cases(options, says: str, tmp_path: Path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    directory = write_run(tmp_path / "lira-dm-digits-1", initial=-1)
    code, out, err = run(monkeypatch, capsys, str(directory.path), *options)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_only_the_format_asked_for_is_written_against_files(tmp_path: Path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    directory = write_run(tmp_path / "lira-dm-digits-1", initial=-1)
    assert run(monkeypatch, capsys, str(directory.path), "--format", "html")[0] == 0
    assert {path.name for path in directory.path.glob("report.*")} == {"report.json", "report.html"}


def test_scores_of_another_audit_are_refused_by_name_against_message(tmp_path: Path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    first, second = (write_run(tmp_path / f"lira-dm-digits-{n}", initial=-1) for n in (1, 2))
    simulate_report(runs=8, records=60, leak=0.0)[1].to_parquet(second.scores, index=False)
    code, _, err = run(monkeypatch, capsys, str(first.path), str(second.path), "--format", "html")
    assert code == 2
    assert "lira-dm-digits-2: the score table gives AUC" in err
    assert not list(tmp_path.glob("*comparison*"))


def test_every_audit_has_its_page_and_its_row_against_text(tmp_path: Path) -> None:
    report, scores = simulate_report(runs=12, records=60)
    several = [replace(report, method=f"method-{n}", claimed=CLAIM if n else None) for n in range(3)]
    materials = (gather_membership(each, scores=scores, gallery=Gallery()) for each in several)
    write_pdf(build_comparison(several, materials), tmp_path / "c.pdf")
    assert b"CreationDate" not in (tmp_path / "c.pdf").read_bytes()
    text = text_of(tmp_path / "c.pdf")
    assert pages_of(tmp_path / "c.pdf") == 4
    for number, each in enumerate(several, start=1):
        assert f"AUDIT {number} {each.method} on digits" in text
        assert re.search(rf"{number} method-{number - 1} ≥ \d", text)
    assert "3 audits compared" in text


def test_the_curves_drawn_are_those_with_the_largest_area_against_naive() -> None:
    report, _ = simulate_report(runs=6, records=40)
    areas = [0.5 + 0.03 * (7 * n % 12) for n in range(12)]
    several = [replace(report, roc=replace(report.roc, auc=area)) for area in areas]
    assert drawn_curves(several[:5]) == [1, 2, 3, 4, 5]
    worst = {index + 1 for index in sorted(range(12), key=lambda index: areas[index])[: 12 - MOST_CURVES]}
    assert set(drawn_curves(several)) == set(range(1, 13)) - worst


def test_the_outlook_says_what_would_refute_against_cases() -> None:
    report, _ = simulate_report(runs=6, records=40)
    said = {
        claim: explain_outlook(
            replace(report, outlook=OUTLOOK, claimed=replace(CLAIM, epsilon_rdp=None, epsilon_pld=claim))
        )
        for claim in (0.15, 3.0, 6.0, 7.0)
    }
    assert "48 runs would refute the claim of ε ≤ 0.15" in said[0.15]
    assert "even 48 runs would not refute the claim of ε ≤ 3.00" in said[3.0]
    assert "No attack could refute the claim of ε ≤ 7.00 with 48 runs or fewer" in said[7.0]
    assert "No attack could refute" in said[6.0]
    assert "claim" not in explain_outlook(replace(report, outlook=OUTLOOK))


def test_a_ladder_with_no_ceiling_survives_its_file_against_record() -> None:
    report, _ = simulate_report(runs=6, records=40)
    row = LadderRow(
        level="set", attack="lira", lower=1.0, delta=0.0, confidence=0.95, ceiling=float("inf"), analytic_epsilon=None,
        verdict="NO CLAIM",
    )  # fmt: skip
    with_ladder = replace(report, ladder=Ladder(method="dm", dataset="digits", rows=(row,)), outlook=OUTLOOK)
    again = load(dump(with_ladder))
    assert (again.ladder, again.outlook) == (with_ladder.ladder, with_ladder.outlook)
    with pytest.raises(ValueError, match="'SAFE' is not one of"):
        replace(row, verdict="SAFE")


@pytest.mark.slow
def test_fifty_audits_fit_in_a_gibibyte_against_measured_peak(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "lira-dm-digits-1", initial=-1)
    command = [sys.executable, "-c", MEASURE, str(directory.path), "50"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert float(done.stdout) < 1024
    assert pages_of(directory.path / "comparison.pdf") > 50
