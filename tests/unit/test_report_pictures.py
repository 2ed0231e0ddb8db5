"""What was once wrong in a picture of a report: cut or colliding text, names and numbers that nobody explains."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Sheet
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from test_report_simulation import simulate_report

from reports.documents.blocks import Definitions, Heading, Prose
from reports.documents.worst_case import WorstCaseMaterial, build_worst_case
from reports.figures.canvas import Canvas, Plot
from reports.figures.epsilon import epsilon_plot
from reports.figures.panel import say_distance
from reports.figures.scores import scores_plot
from reports.figures.style import house_style
from reports.figures.theory import images_plot
from reports.records.schema import EpsilonBound, Report
from reports.records.scores import ScoreHistogram
from reports.records.worst_case import ContractCheck, WorstCaseReport
from reports.render.html import NARROW, WIDE, worded
from reports.words import bounds, membership, rounding
from reports.words.epsilon_rows import EpsilonRow, explain_bars, rows_of_bounds
from reports.words.tables import bounds_table, protocols_table


@cache
def audited() -> Report:
    return simulate_report(runs=24, records=100)[0]


def drawn(plot: Plot, width: float) -> Sheet:
    with house_style():
        sheet = Sheet(figsize=(width / 72, plot.height(width) / 72))
        plot.draw(Canvas(sheet=sheet, left=0.0, top=0.0, width=width))
        FigureCanvasAgg(sheet).draw()
    return sheet


def boxes(sheet: Sheet) -> dict[str, Bbox]:
    """Where the visible texts are."""
    texts = [text for text in sheet.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return {text.get_text(): text.get_window_extent() for text in texts}


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_the_mark_of_a_claim_hides_no_label_against_boxes(width: float) -> None:
    names = ("one-run-dp, δ = 10⁻⁵", "one-run, δ = 0")
    rows = [EpsilonRow(label=name, lower=1.9, ceiling=6.2, claimed=0.5) for name in names]
    sheet = drawn(epsilon_plot(rows, "Certified ε"), width)
    labels = [box for text, box in boxes(sheet).items() if text in names]
    marks = [line.get_window_extent() for line in sheet.findobj(Line2D) if line.get_marker() in ("v", "^")]
    assert len(labels) == len(marks) == 2
    assert not any(label.overlaps(mark) for label in labels for mark in marks)


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_titles_of_synthetic_images_are_not_cut_against_boxes(width: float) -> None:
    names = [f"{extractor} from noise" for extractor in ("linear", "linear-relu", "convnet")]
    sheet = drawn(images_plot({name: np.zeros((20, 8, 8, 1)) for name in names}, 10), width)
    found = boxes(sheet)
    assert all(found[name].x1 <= sheet.bbox.x1 and found[name].x0 >= 0 for name in names)


def test_shares_of_one_decade_have_no_minor_labels_against_texts() -> None:
    share = np.full(20, 0.05)
    histogram = ScoreHistogram(
        edges=np.linspace(0, 1, 21), members=share, nonmembers=share, num_members=400, num_nonmembers=400, folded=0
    )
    assert not any("times" in text for text in boxes(drawn(scores_plot(histogram), WIDE)))


def test_a_point_estimate_has_a_name_and_no_ceiling_against_cells() -> None:
    named = tuple(
        replace(bound, estimator="paper-style") if bound.kind == "no bound" else bound for bound in audited().bounds
    )
    report = replace(audited(), bounds=named)
    cells = next(row for row in bounds_table(report.bounds).rows if row[-1] == "NO\u00a0BOUND")
    assert (cells[0], cells[6]) == ("ln(TPR/FPR)", "–")
    estimate = next(row for row in rows_of_bounds(report) if not row.certified)
    assert (estimate.label, estimate.most) == ("ln(TPR/FPR), NO BOUND", "–")
    high = replace(estimate, ceiling=1e9)
    assert "beyond the right edge" not in explain_bars([high])


def test_the_note_on_the_ratio_stands_only_where_the_ratio_does_against_record() -> None:
    report = audited()
    assert "Dong et al." in membership.ratio_note(report)
    certified = tuple(bound for bound in report.bounds if bound.kind != "no bound")
    assert membership.ratio_note(replace(report, bounds=certified, paper_style_epsilon=None)) == ""


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (
            {"coins": 1600, "guesses": 112, "correct": 104, "positive_guesses": 80, "negative_guesses": 32},
            "guessed 112 of 1\u202f600 coins, 80 as members and 32 as non-members, and 104 of these guesses",
        ),
        ({"coins": 10, "guesses": 4, "correct": 3}, "guessed 4 of 10 coins, and 3 of these guesses were right."),
        (
            {"true_positives": 7, "false_negatives": 2, "false_positives": 1, "true_negatives": 8},
            "7 of 9 runs with the canary were detected and 1 of 9 runs without it were wrongly flagged.",
        ),
    ],
)
def test_counts_are_said_in_words_against_text(counts: dict[str, int], said: str) -> None:
    bound: EpsilonBound = replace(audited().epsilon, counts=counts)
    assert said in bounds.explain_headline(bound)


def test_a_broken_contract_speaks_of_no_runs_scores_or_bounds_against_blocks() -> None:
    none = replace(audited().epsilon, lower=0.0, num_trials=0, ceiling=0.0, assumptions=("nothing was measured",))
    broken = ContractCheck(name="ledger", held=False, sentence="Planned 4 × σ 3 at rate 0.25 of class 0.")
    report = WorstCaseReport(
        command="audit worst-case", method="m", verdict="CONTRACT BROKEN", verdict_reason=broken.sentence, epsilon=none,
        bounds=(none,), claimed=None, tightness=None, tightness_reason="", attempts=(), canary_length=0.0,
        canary_typical_length=0.0, ledger=(), config={}, class_sizes=(30.0, 30.0), num_trials=1000, seed=0,
        threat_model=("the adversary chose the pools",), versions={}, digest="", run_directory="", contracts=(broken,),
    )  # fmt: skip
    blocks = build_worst_case(WorstCaseMaterial(report=report)).blocks
    entries = dict(entry for block in blocks if isinstance(block, Definitions) for entry in block.entries)
    assert entries["Runs"].startswith("None")
    assert not {"Claimed", "Canary", "The bound assumes", "Other faults"} & set(entries)
    assert any(isinstance(block, Prose) and "noise multiplier" in block.text for block in blocks)
    assert not any(isinstance(block, Heading) and block.text == "All bounds" for block in blocks)


def test_runs_of_an_attack_that_learns_from_none_against_text() -> None:
    report = audited()
    said = dict(membership.explain_game(replace(report, game=replace(report.game, num_fit_runs=0))))
    assert "all of them test runs" in said["Runs"]


def test_what_was_changed_is_listed_once_against_settings() -> None:
    table = bounds.settings_table({"changes": {"iterations": 20}, "method_config": {"iterations": 20}})
    assert table.rows == (("method_config.iterations", "20"),)


def test_settings_of_released_sets_only_where_there_are_some_against_settings() -> None:
    given = {"synthetic": [], "index": 0, "normalisation": "auto", "seed": 0}
    assert bounds.settings_table(given).rows == (("seed", "0"),)
    assert len(bounds.settings_table(given | {"synthetic": ["set.npz"]}).rows) == 4
    assert bounds.settings_table({"normalisation": "half"}).rows == (("normalisation", "half"),)


def test_the_advantage_stands_beside_its_protocol_against_titles() -> None:
    assert [column.title for column in protocols_table(audited()).columns][:2] == ["protocol", "advantage"]


@pytest.mark.parametrize(
    ("value", "text"), [(1.6, "1.60"), (3.0, "3.00"), (102.4, "102"), (13000.0, "13\u202f000"), (9.98e-4, "9.98·10⁻⁴")]
)
def test_figures_of_a_column_keep_their_zeros_against_text(value: float, text: str) -> None:
    assert rounding.significant(value) == text


def test_figures_of_a_column_have_the_same_decimals_against_text() -> None:
    intervals = [(0.39, 0.64), (0.506, 0.680), (0.5, 0.5)]
    decimals = rounding.common_decimals(intervals)
    assert [rounding.measured(0.51, interval, decimals)[0] for interval in intervals] == ["0.510"] * 3
    assert rounding.common_decimals([]) == 2


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("add --claim.", 'add <span class="option">--claim</span>.'),
        ("a <b> --x<y", "a &lt;b&gt; --x&lt;y"),
        (f"--{'a' * 200}", f"--{'a' * 200}"),
    ],
)
def test_options_stay_whole_and_nothing_else_is_markup_against_text(text: str, markup: str) -> None:
    assert str(worded(text)) == markup


@pytest.mark.parametrize(("distance", "text"), [(2.0, "2.0"), (13.2, "13"), (102.4, "102"), (0.0, "≈ 0")])
def test_distances_have_two_digits_and_no_exponent_against_text(distance: float, text: str) -> None:
    assert say_distance(distance) == text
