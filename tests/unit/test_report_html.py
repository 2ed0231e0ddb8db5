"""The HTML page: it says what the record says, the same bytes each time, and no name in a record can act in it."""

import base64
import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from test_report_simulation import CLAIM, PROTOCOL, simulate_gallery, simulate_report

from reports.documents.blocks import Table
from reports.documents.comparison import build_comparison
from reports.documents.ladder import ladder_section
from reports.documents.membership import build_membership, gather_membership
from reports.figures import style
from reports.figures.canvas import Canvas
from reports.figures.roc import SCREEN_WIDTH, roc_scales
from reports.figures.theme import DARK
from reports.records.coin_test import CoinTest
from reports.records.gallery import Gallery, Panel
from reports.records.schema import Ladder, LadderRow, Outlook, RecordGroup, Report, dump, load
from reports.render.html import asset, visible, write_html
from reports.words.groups import groups_table

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' onfocus='alert(3)' <!-- \u202egnp"
LADDER = Ladder(
    method="ndpdc",
    dataset="digits",
    rows=tuple(
        LadderRow(
            level=level, attack="lira", lower=lower, delta=1e-5, confidence=0.95, ceiling=5.6, analytic_epsilon=1.0,
            verdict="REFUTED" if lower > 1 else "NOT REFUTED",
        )
        for level, lower in (("model", 0.21), ("set", 0.74), ("transcript", 1.62))
    ),
)  # fmt: skip
OUTLOOK = tuple(
    Outlook(num_runs=24 * k, num_test_runs=6 * k, num_trials=100 * k, ceiling=4.0 + k, lower_at_same_rates=0.1 * k)
    for k in (1, 2)
)


def whole_report(**changes: Any) -> tuple[Report, Any]:
    """An audit that has every section."""
    report, scores = simulate_report(runs=24, records=120, leak=1.5)
    told = {"claimed": CLAIM, "verdict": "NOT REFUTED", "ladder": LADDER, "outlook": OUTLOOK, "protocols": (PROTOCOL,)}
    return replace(report, **{**told, **changes}), scores


def page_of(tmp_path: Path, report: Report, scores: Any, gallery: Gallery | None = None) -> str:
    path = tmp_path / "report.html"
    material = gather_membership(report, scores=scores, gallery=gallery or Gallery(note="Not drawn."))
    write_html(build_membership(material), path)
    return path.read_text(encoding="utf-8")


class Skeleton(HTMLParser):
    """Tags with the names of their attributes, in order, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.values: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.values += attrs

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def test_hostile_names_change_words_and_nothing_else_against_tags(tmp_path: Path) -> None:
    names = ("method", "dataset", "attack", "command", "digest", "run_directory", "verdict_reason")
    plain = Skeleton(page_of(tmp_path, *whole_report(**dict.fromkeys(names, "plain"))))
    report, scores = whole_report(**dict.fromkeys(names, HOSTILE))
    hostile = Skeleton(page_of(tmp_path, report, scores))
    assert hostile.tags == plain.tags
    attributes = Counter(name for _, names in hostile.tags for name in names)
    assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert hostile.text.count("<script>alert(1)</script>") >= len(names)
    assert "\u202e" not in hostile.text
    kinds = [value for name, value in hostile.values if name == "type"]
    assert set(kinds) == {"application/json", "radio"}


def test_hostile_words_everywhere_in_a_record_change_no_tag_against_tags(tmp_path: Path) -> None:
    """Every string of the record but the verdict, also the names of settings and versions."""
    markup = HOSTILE.replace("\u202e", "")  # which turns words round, and is refused when a record is read

    def poison(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {(f"{name}{markup}" if key in ("config", "versions") else name): poison(entry, name)
                    for name, entry in value.items()}  # fmt: skip
        if isinstance(value, list):
            return [poison(entry, key) for entry in value]
        fixed = key in ("verdict", "schema", "kind", "estimator", "level")
        return f"{value}{markup}" if isinstance(value, str) and not fixed else value

    report, scores = whole_report()
    with pytest.raises(ValueError, match="control characters"):
        load(json.dumps({**json.loads(dump(report)), "method": HOSTILE}))
    poisoned = load(json.dumps(poison(json.loads(dump(report)))))
    plain, hostile = (Skeleton(page_of(tmp_path, each, scores)) for each in (report, poisoned))
    assert hostile.tags == plain.tags
    assert len(hostile.text) > len(plain.text)


def test_json_in_the_page_cannot_end_its_element_against_round_trip(tmp_path: Path) -> None:
    runs = [whole_report(method=HOSTILE) for _ in range(2)]
    materials = (gather_membership(report, scores=scores, gallery=Gallery()) for report, scores in runs)
    write_html(build_comparison([report for report, _ in runs], materials), tmp_path / "c.html")
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    text = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)[0]
    assert not set("<>&") & set(text)
    assert HOSTILE[:20] in json.loads(text)["text"][5][1]
    assert visible("a\tb\x00\ud800<") == "a b\ufffd\ufffd<"


def test_the_style_sheet_has_the_colours_of_the_figures_against_palette() -> None:
    light, dark = (
        dict(re.findall(r"--(\w+): (#\w+);", part)) for part in asset("page.css").split("prefers-color-scheme: dark")
    )
    named = {"vermillion": style.RED_INK}
    for name in ("ink", "grey", "rule", "pale", "paper", "blue", "vermillion", "orange"):
        colour = named.get(name, getattr(style, name.upper()))
        assert (light[name], dark[name]) == (colour, DARK[colour]), name


def test_the_policy_allows_this_script_and_style_only_against_digests(tmp_path: Path) -> None:
    page = page_of(tmp_path, *whole_report())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    for element in ("script", "style"):
        (content,) = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'")
    assert "unsafe" not in policy[1]
    assert '<html lang="en">' in page
    body = re.sub(r'"data:image/[^"]*"', "", page.split("<body>")[1])
    assert not re.search(r"https?://|//[a-z]|@import|url\((?!#)", body)


def test_the_same_record_gives_the_same_bytes_against_bytes(tmp_path: Path) -> None:
    report, scores = whole_report()
    first = page_of(tmp_path, report, scores, simulate_gallery())
    assert page_of(tmp_path, load(dump(report)), scores, simulate_gallery()) == first
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_the_page_says_what_the_record_says_against_text(tmp_path: Path) -> None:
    report, scores = whole_report()
    text = Skeleton(page_of(tmp_path, report, scores)).text
    order = ("NOT REFUTED", "ε by level of the adversary", "Key numbers", "and what the claim allows",
             "Certified ε and the claim", "What more runs could certify", "Threat model", "Most exposed",
             "does not show", "How to repeat", "docs/glossary.md")  # fmt: skip
    places = [text.index(words, text.index("NOT REFUTED")) for words in order]
    assert places == sorted(places)
    for words in (
        report.verdict_reason,
        report.command,
        report.digest,
        "5.62 by PLD",
        "≥ 1.62",
        "NO BOUND",
        "1.2%",
        "audit report RUN_DIR --show-records",
        f"{report.roc.auc:.2f}",
        "87.40%",
    ):
        assert words in text, words
    for record in report.exposed:
        assert f"{record.auc:.3f}" in text


def test_the_test_of_a_curve_stands_below_the_bounds_against_text(tmp_path: Path) -> None:
    report, scores = whole_report()
    test = CoinTest(
        refuted=True,
        p_value=0.0123,
        confidence=0.95,
        curve="privacy loss distribution",
        counts={"coins": 3000, "guesses": 120, "correct": 99},
        threshold_choice="chosen on cross-fitted fit runs",
        correction="one rule, at 0.5 of the significance each",
        num_tries=2,
        assumptions=(),
    )
    page = Skeleton(page_of(tmp_path, replace(report, curve_test=test), scores)).text
    assert "REFUTED, 99 right of 120 guesses about 3" in page
    assert "(p = 0.013)" in page
    assert "Bound and test together refute a true claim in at most 5%" in page


def test_real_images_are_there_on_demand_only_against_image_count(tmp_path: Path) -> None:
    report, scores = whole_report()
    hidden = page_of(tmp_path, report, scores)
    assert "data:image/png" not in hidden
    assert "THESE ARE REAL RECORDS" not in hidden
    images = np.linspace(0, 1, 16 * 8 * 8).reshape(16, 8, 8, 1).astype(np.float32)
    panel = Panel(images=images[:2].repeat(3, axis=-1), captions=("synthetic", HOSTILE))
    shown = page_of(tmp_path, report, scores, replace(simulate_gallery(), exposed=images, matches=(panel,)))
    assert shown.count('src="data:image/png;base64,') == 16 + 2
    assert shown.count("THESE ARE REAL RECORDS") == 2
    assert len(re.findall(r"<img [^>]*alt=", shown)) == len(re.findall("<img ", shown)) == 18 + shown.count("<picture>")
    assert shown.count("<picture>") == hidden.count("<picture>") + 1


def test_odd_measures_are_drawn_against_text(tmp_path: Path) -> None:
    """No leak, no ceiling, no utility, nothing exposed, rates of zero on logarithmic axes, a control."""
    report, scores = simulate_report(runs=6, records=40, leak=0.0)
    curve = {**report.roc.curve, "lower": [0.0] * len(report.roc.curve["lower"])}
    curve["true_positive_rate"] = [0.0 if rate < 0.2 else rate for rate in curve["true_positive_rate"]]
    odd = replace(
        report,
        epsilon=replace(report.epsilon, lower=0.0, ceiling=float("inf")),
        roc=replace(report.roc, curve=curve),
        claimed=CLAIM,
        verdict="NOT REFUTED",
        utility=None,
        exposed=(),
        game=replace(report.game, membership_shuffled=True),
    )
    page = page_of(tmp_path, odd, scores)
    text = Skeleton(page).text
    for words in ("CONTROL", "not measured", "no ceiling", "5.62 by PLD"):
        assert words in text, words
    assert not re.search(r"[\" ,\[(](nan|inf|-inf|NaN|Infinity)[\" ,\])]", page)


def test_a_comparison_holds_every_audit_once_against_sections(tmp_path: Path) -> None:
    runs = [whole_report(level=level) for level in ("model", "set", "set")]
    reports = [report for report, _ in runs]
    note = Gallery(note="Not drawn.")
    materials = (gather_membership(report, scores=scores, gallery=note) for report, scores in runs)
    write_html(build_comparison(reports, materials), tmp_path / "comparison.html")
    page = (tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert re.findall(r'<section class="run" id="run-(\d)" data-level="(\w+)"', page) == [
        ("1", "model"), ("2", "set"), ("3", "set")
    ]  # fmt: skip
    assert page.count("<option") == 3
    assert page.count('name="level"') == 2
    identities = re.findall(r'\bid="([^"]+)"', page)
    assert len(identities) == len(set(identities))
    assert "may be up to 15%" in page


def test_a_ladder_is_a_section_of_its_own_against_rows() -> None:
    _, table, figure, _ = ladder_section(LADDER)
    assert isinstance(table, Table)
    assert [row[:3] for row in table.rows] == [
        ("model", "≥ 0.21", "NOT REFUTED"),
        ("set", "≥ 0.74", "NOT REFUTED"),
        ("transcript", "≥ 1.62", "REFUTED"),
    ]
    for words in ("model: lira", "≥ 1.62", "≤ 1.00"):
        assert words in figure.plot.alt  # type: ignore[union-attr]


def test_groups_have_titles_for_people_against_cells() -> None:
    report, _ = whole_report()
    group = RecordGroup(
        name="crafted",
        num_records=1500,
        auc=0.75,
        auc_interval=(0.7, 0.8),
        tpr_at_fpr={"0.01": 0.0625, "0.001": 0.0213},
        epsilon=replace(report.epsilon, lower=1.239),
    )
    table = groups_table([group, replace(group, name="ordinary"), replace(group, name="class 3")])
    assert [column.title for column in table.columns][-3:-1] == ["TPR at FPR 0.1%", "TPR at FPR 1%"]
    assert not any("_" in column.title for column in table.columns)
    assert table.rows[0][:-1] == (
        "crafted canaries", "ε ≥ 1.23", "1\u202f500", "0.750", "[0.700, 0.800]", "2.1%", "6.2%",
    )  # fmt: skip
    assert [row[0] for row in table.rows[1:]] == ["ordinary records", "class 3"]


@pytest.mark.parametrize("place", [0, 1])
def test_the_places_that_the_script_is_told_are_those_of_the_drawn_curve_against_axes(place: int) -> None:
    report, _ = whole_report()
    scale = roc_scales(report, 1000, of="x")[place]
    with style.house_style():
        sheet = Figure(figsize=(SCREEN_WIDTH / 72, scale.plot.height(SCREEN_WIDTH) / 72), dpi=72)
        scale.plot.draw(Canvas(sheet=sheet, left=0.0, top=0.0, width=SCREEN_WIDTH))
    (axes,) = sheet.axes
    lowest = axes.get_xlim()[0]
    for index in (3, 60, 120, 201):
        rates = (report.roc.curve[name][index] for name in ("false_positive_rate", "true_positive_rate"))
        x, y = axes.transData.transform(tuple(max(rate, lowest) for rate in rates))
        assert (scale.x[index], scale.y[0][index]) == pytest.approx((x, sheet.bbox.height - y), abs=0.06)
