"""What was once wrong in a picture of a ladder, of attributes, of a reproduction or of an audit of nothing."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from chromium import PROGRAM, browse
from test_report_html import LADDER, whole_report
from test_report_pdf import text_of
from test_report_pictures import audited, boxes, drawn
from test_report_screen import DESK, PHONE, show
from test_report_simulation import CLAIM

from audit.games.ladder import _reason
from audit.games.scope import in_scope
from reports.documents.attribute import AttributeMaterial, build_attribute
from reports.documents.blocks import Definitions, KeyFigure, Prose
from reports.documents.comparison import build_comparison
from reports.documents.kinds import AuditMaterial
from reports.documents.membership import build_membership, gather_membership
from reports.documents.reproduction import ReproductionMaterial, build_reproduction
from reports.documents.worst_case import WorstCaseMaterial, build_worst_case
from reports.figures.reproduction import curve_plot
from reports.records.attribute import NO_DIFFERENCE, AttributeReport, Estimate, Guessing
from reports.records.gallery import Gallery
from reports.records.kinds import AuditRecord
from reports.records.reproduction import NOT_COMPARED, NOTHING_PRINTED, ReproducedRow, ReproductionReport
from reports.records.scope import Scope
from reports.records.worst_case import WorstCaseReport
from reports.render.html import NARROW, WIDE, parted, write_html
from reports.render.pdf import write_pdf
from reports.words import attribute, comparison, ladder, membership, reproduction
from reports.words.epsilon_rows import rows_of_ladder, rows_of_reports
from reports.words.tables import comparison_table, ladder_table

PLUGIN = "zoo.own_plugins:own_mechanism"
in_browser = pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed: the page cannot be tried in it")


@cache
def nothing_tested() -> WorstCaseReport:
    none = replace(audited().epsilon, lower=0.0, num_trials=0, ceiling=0.0, assumptions=("nothing was measured",))
    return WorstCaseReport(
        command="audit worst-case", method=PLUGIN, level="set", verdict="NOTHING TESTED", verdict_reason="No canary.",
        epsilon=none, bounds=(none,), claimed=None, tightness=None, tightness_reason="", attempts=(),
        canary_length=0.0, canary_typical_length=0.0, ledger=(), config={}, class_sizes=(30.0, 30.0), num_trials=100,
        seed=0, threat_model=("the adversary chose the pools",), versions={}, digest="", run_directory="",
        not_examined=("canary blank",),
    )  # fmt: skip


@cache
def of_attributes() -> AttributeReport:
    report = audited()
    few = Estimate(value=0.0, interval=(0.0, 0.0169))
    wide, narrow = Estimate(value=0.528, interval=(0.489, 0.566)), Estimate(value=0.0041, interval=(-0.0019, 0.0101))
    guessing = Guessing(
        error_without=0.5448, error_nonmembers=wide, error_members=wide, gain=narrow,
        member_gain=Estimate(value=0.002, interval=(-0.018, 0.022)), reconstructed_at=0.05, reconstructed_without=0.0,
        reconstructed_nonmembers=few, reconstructed_members=few,
        member_reconstructions=Estimate(value=0.0, interval=(-0.18, 0.18)), start_gain=None,
    )  # fmt: skip
    return AttributeReport(
        command="audit attribute", method="dm", dataset="digits", verdict="NOT REFUTED", verdict_reason="None.",
        finding=NO_DIFFERENCE, masked="right-half", num_masked=32, num_visible=32, guessing=guessing,
        epsilon=replace(report.epsilon, num_trials=200), bounds=report.bounds, claimed=CLAIM, proved=None,
        roc=report.roc, interval_unit=report.roc.interval_unit,
        game=replace(report.game, num_records=100, num_test_runs=4), threat_model=(), config={}, versions={}, digest="",
        run_directory="", pdf="",
    )  # fmt: skip


@cache
def reproduced() -> ReproductionReport:
    differs = ("300 records of digits in place of cifar10, preset quick; depth 2; iterations 5 instead of 10000",) * 2
    rows = tuple(
        ReproducedRow(
            labels=(("varied", "optimisation steps"), ("dataset", "cifar10"), ("ipc", "10"), ("value", str(value))),
            relation="value",
            published=published,
            published_interval=None,
            ours=20.0,
            interval=(10.0, 30.0),
            num_seeds=2,
            agreement=NOTHING_PRINTED if published is None else NOT_COMPARED,
            differs=differs,
            command="audit utility --epochs 30",
        )
        for value, published in ((500, 50.6), (1000, None), (2000, None), (100000, None), (200000, 52.3))
    )
    return ReproductionReport(
        item="dosser/figure-4", paper="Zheng et al.", where="Figure 4", title="Steps", unit="%", scale="smoke",
        axis="value", command="audit reproduce dosser/figure-4 --seeds 2 --set iterations=5", rows=rows, quoted=(),
        maps=(), config={}, versions={}, digest="", run_directory="", pdf="",
    )  # fmt: skip


def test_the_headline_of_a_ladder_is_its_largest_bound_against_rows() -> None:
    report, scores = whole_report(ladder=LADDER)
    document = build_membership(gather_membership(report, scores=scores, gallery=Gallery()))
    first = next(block for block in document.blocks if isinstance(block, KeyFigure))
    assert first.figure == "ε ≥ 1.62"
    assert "at level transcript" in first.text
    assert "hold together with 85% confidence" in first.text
    assert "levels model, set and transcript" in document.blocks[0].text  # type: ignore[union-attr]
    said = dict(membership.limits(report))
    assert "85% is that of all levels together" in said["Several audits"]
    assert "Only lira" not in said["Better attacks"]
    none = replace(LADDER, rows=tuple(replace(row, lower=0.0) for row in LADDER.rows))
    assert (ladder.ladder_headline(none), "at any level" in ladder.explain_ladder(none)) == ("ε ≥ 0", True)


def test_a_level_that_was_not_measured_has_no_figures_against_cells() -> None:
    broken = replace(LADDER.rows[2], verdict="CONTRACT BROKEN", lower=0.0, ceiling=0.0)
    rungs = replace(LADDER, rows=(*LADDER.rows[:2], broken))
    cells = ladder_table(rungs).rows[2]
    assert (cells[1], cells[6]) == ("–", "–")
    assert [(row.figure, row.most) for row in rows_of_ladder(rungs)][2] == ("–", "–")
    assert ladder.ladder_headline(rungs) == "ε ≥ 0.74"


def test_the_verdict_of_a_ladder_speaks_of_all_levels_unless_one_accuses_against_text() -> None:
    scope = Scope(dataset="digits", steps=5)
    calm = replace(audited(), verdict="NOT REFUTED", scope=scope)
    levels = {"model": replace(calm, level="model"), "set": replace(calm, level="set")}
    said = _reason(levels["model"], levels)
    assert said.startswith("No level contradicts")
    assert said.count("digits, 5 steps") == 1
    assert "(levels model and set)" in said
    accused = replace(calm, verdict="REFUTED", verdict_reason="The bound exceeds it.", level="set")
    assert _reason(accused, {**levels, "set": accused}) == "Level set: The bound exceeds it."


def test_where_nothing_was_tested_no_page_says_that_something_was_against_blocks() -> None:
    report = nothing_tested()
    assert in_scope(report).verdict_reason == "No canary."
    blocks = build_worst_case(WorstCaseMaterial(report=report)).blocks
    entries = dict(entry for block in blocks if isinstance(block, Definitions) for entry in block.entries)
    assert "--design" in entries["Next step"]
    cells = comparison_table([audited(), report]).rows[1]
    assert [cells[place] for place in (2, 4, 9, 10)] == ["–"] * 4
    row = rows_of_reports([audited(), report])[1]
    assert (row.figure, row.most, row.label) == ("–", "–", f"2  {PLUGIN}, worst-case, set")
    assert comparison.explain_comparison([audited(), report]).split("up to")[1].startswith(" 5%")


def test_a_comparison_names_the_audits_without_a_curve_against_text() -> None:
    reports: list[AuditRecord] = [audited(), nothing_tested()]
    document = build_comparison(reports, [])
    assert document.entries[1].label.endswith("level set: NOTHING TESTED")
    notes = [block.text for block in document.blocks if isinstance(block, Prose) and block.kind == "note"]
    assert "No curve was measured in audit 2." in notes[-1]
    assert "largest AUC" not in notes[-1]


def test_figures_of_one_kind_have_the_same_decimals_against_cells() -> None:
    cells = [row[1:] for row in attribute.errors_table(of_attributes()).rows]
    assert [figure for figure, _ in cells[:3]] == ["54.5%", "52.8%", "52.8%"]
    assert cells[3:5] == [("0.41%", "[−0.19%, 1.01%]"), ("0.20%", "[−1.80%, 2.20%]")]
    assert [figure for figure, _ in cells[5:]] == ["0.00%"] * 4
    assert "0.20% [−1.80%, 2.20%]" in attribute.explain_finding(of_attributes())


def test_a_page_of_attributes_says_what_its_coins_and_its_curve_are_against_blocks() -> None:
    blocks = build_attribute(AttributeMaterial(report=of_attributes())).blocks
    key = next(block for block in blocks if isinstance(block, KeyFigure))
    assert "the other 200 coins were used to choose the thresholds" in key.text
    prose = [block.text for block in blocks if isinstance(block, Prose)]
    assert any("with about 200 non-members" in text and "what the claim allows" in text for text in prose)
    assert dict(attribute.game_entries(of_attributes()))["Claimed"].startswith("ε")
    assert not any("`" in text for _, text in attribute.LIMITS)


def test_figures_of_a_paper_are_counted_in_english_against_text() -> None:
    report = reproduced()
    assert reproduction.summary(report) == "5 values: 3 without a printed value, 2 not compared."
    assert reproduction.summary(replace(report, rows=report.rows[:1])) == "1 value: not compared."
    assert "listed as “drawn”" in reproduction.explain_intervals(report)
    assert "drawn" not in reproduction.explain_intervals(replace(report, rows=report.rows[:1]))
    assert reproduction.name_labels((("method", "psg"), ("ipc", "10"), ("epsilon", "1"))) == "psg, ipc 10, ε 1"


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_labels_of_a_curve_name_their_quantity_and_do_not_touch_against_boxes(width: float) -> None:
    found = boxes(drawn(curve_plot(reproduced()), width))
    assert "optimisation steps, cifar10, ipc 10" in found
    assert "value of the setting that is varied" in found
    ticks = [box for text, box in found.items() if text.replace("\u202f", "").isdigit() and text != "0"]
    ticks = [box for box in ticks if abs(box.y0 - min(each.y0 for each in ticks)) < 2]
    ticks.sort(key=lambda box: box.x0)
    assert len(ticks) >= 3
    assert all(left.x1 < right.x0 for left, right in pairwise(ticks))


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        (PLUGIN, "zoo.<wbr>own_<wbr>plugins:<wbr>own_<wbr>mechanism"),
        ("method_config.init<y", "method_<wbr>config.<wbr>init&lt;y"),
        ("short_name 0.123456789012345678", "short_name 0.123456789012345678"),
    ],
)
def test_long_names_are_parted_at_their_joints_against_text(text: str, markup: str) -> None:
    assert parted(text) == markup


# Labels of choices on several lines, options parted in a command, rows of tables higher than a figure of a paper needs,
# and tables wider than a desk's page.
FAULTS = """(() => ({
  choices: Array.from(document.querySelectorAll("fieldset label")).filter((each) => each.clientHeight > 30).length,
  parted: Array.from(document.querySelectorAll("pre .option")).filter((at) => at.getClientRects().length > 1).length,
  options: document.querySelectorAll("pre .option").length,
  high: Array.from(document.querySelectorAll("tbody tr")).filter((each) => each.clientHeight > 160).length,
  wide: Array.from(document.querySelectorAll(".scroll")).filter((each) => each.scrollWidth > each.clientWidth).length,
}))()"""


@in_browser
def test_choices_commands_and_tables_fit_their_page_against_browser(tmp_path: Path) -> None:
    report, scores = whole_report()
    several = [
        replace(report, level=level, method=method)
        for level in ("model", "generator", "set")
        for method in ("dm", PLUGIN)
    ]
    several.append(replace(report, level="transcript", attack="worst-case"))
    materials: list[AuditMaterial] = [gather_membership(each, scores=scores, gallery=Gallery()) for each in several]
    compared, copied = tmp_path / "comparison.html", tmp_path / "reproduction.html"
    write_html(build_comparison(several, materials), compared)
    write_html(build_reproduction(ReproductionMaterial(report=reproduced())), copied)
    with browse() as browser:
        show(browser, compared, PHONE, "light")
        found = browser.run(FAULTS)
        assert (found["choices"], found["parted"]) == (0, 0)
        assert found["options"] > 0
        show(browser, copied, PHONE, "light")
        assert browser.run(FAULTS)["high"] == 0
        show(browser, compared, DESK, "light")
        assert browser.run(FAULTS)["wide"] == 0


def test_a_long_title_is_whole_on_paper_against_text(tmp_path: Path) -> None:
    title = "Dosser with PEA by optimisation steps, by dimension of the subspace and by auxiliary images, ε = 1"
    write_pdf(build_reproduction(ReproductionMaterial(report=replace(reproduced(), title=title))), tmp_path / "r.pdf")
    assert f"dosser/figure-4: {title}" in text_of(tmp_path / "r.pdf")
    endless = replace(reproduced(), title="word " * 200)
    write_pdf(build_reproduction(ReproductionMaterial(report=endless)), tmp_path / "r.pdf")
    assert "word…" in text_of(tmp_path / "r.pdf")


def test_titles_of_a_comparison_are_whole_words_on_paper_against_text(tmp_path: Path) -> None:
    overview = replace(build_comparison([audited(), nothing_tested()], []), entries=(), parts=())
    write_pdf(overview, tmp_path / "c.pdf")
    said = text_of(tmp_path / "c.pdf")
    assert all(f" {column.title.split()[0]} " in said for column in comparison_table([audited()]).columns[1:])
