"""Writes one audit, or several compared, as one HTML file that needs nothing but itself.

No network: a content security policy forbids it, and only the script and the style of this file, named by their
digests, are obeyed; so no name or path in a record can act, whatever it holds. Equal records give equal bytes.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from reports.figures.series import MOST_CURVES, curves_of
from reports.files import write_atomically
from reports.html_script import SCRIPT
from reports.html_sections import heading, paragraph, table
from reports.html_style import STYLE
from reports.kinds import KnownMaterial, KnownReport, line_of, name_of, sections_of
from reports.material import gather
from reports.records.gallery import Gallery
from reports.records.schema import Report
from reports.svg import escape, tag
from reports.svg_bars import epsilon_figure
from reports.svg_roc import comparison_figure
from reports.words.epsilon_rows import rows_of_reports
from reports.words.tables import comparison_table
from reports.words.wording import BARS_NOTE, LADDER, explain_comparison, headline

_HATCHES = "".join(
    f'<pattern id="{name}" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate({angle})">'
    f'<line x1="0" y1="0" x2="0" y2="8" class="hatch-{name}"></line></pattern>'
    for name, angle in (("forbidden", 45), ("few", -45), ("members", 45))
)


def write_html(report: Report, *, scores: pd.DataFrame, gallery: Gallery, path: Path) -> None:
    """Write one audit; raises ValueError where the inputs do not fit together."""
    write_page(gather(report, scores=scores, gallery=gallery), path)


def write_page(material: KnownMaterial, path: Path) -> None:
    """Write one audit of any kind."""
    _write(_page(f"Privacy audit: {line_of(material.report)}", _one(material)), path)


def write_comparison_html(reports: Sequence[KnownReport], materials: Iterable[KnownMaterial], path: Path) -> None:
    """`materials` are those of the reports in their order; each is asked for when its section is written."""
    _write(_page(f"{len(reports)} privacy audits", _several(reports, materials)), path)


def _write(parts: Iterable[str], path: Path) -> None:
    write_atomically(path, lambda stream: stream.writelines(part.encode() for part in parts))


def _page(title: str, body: Iterable[str]) -> Iterator[str]:
    policy = (
        f"default-src 'none'; script-src {_digest(SCRIPT)}; style-src {_digest(STYLE)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(policy).replace("&#x27;", chr(39))}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield '<meta name="referrer" content="no-referrer">\n'
    yield f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    yield f'<svg class="defs" aria-hidden="true"><defs>{_HATCHES}</defs></svg>\n'
    yield from body
    yield f"\n<script>{SCRIPT}</script>\n</body>\n</html>\n"


def _one(material: KnownMaterial) -> Iterator[str]:
    yield tag("p", "Privacy audit of a condensed data set", class_="over")
    yield f"<main><h1>{escape(name_of(material.report))}</h1>\n"
    yield sections_of(material, "0")
    yield _footer("report.json", scores=isinstance(material.report, Report)) + "</main>"


def _several(reports: Sequence[KnownReport], materials: Iterable[KnownMaterial]) -> Iterator[str]:
    yield tag("p", "Privacy audits of condensed data sets", class_="over")
    yield f"<main><h1>{len(reports)} audits compared</h1>\n"
    yield _overview(reports)
    yield _switch(reports)
    for number, material in enumerate(materials, start=1):
        report = material.report
        yield (
            f'\n<section class="run" id="run-{number}" data-level="{escape(report.level)}" '
            f'data-subject="{escape(f"{report.method} on {report.dataset}")}" aria-labelledby="title-{number}">'
        )
        yield f'<h2 id="title-{number}">{escape(f"{number}  {name_of(report)}")}</h2>\n'
        yield sections_of(material, str(number))
        yield "</section>"
    yield _footer("the report.json of each run", scores=any(isinstance(each, Report) for each in reports)) + "</main>"


def _overview(reports: Sequence[KnownReport]) -> str:
    drawn = curves_of(reports)
    note = "Numbers are those of the table."
    if len(drawn) == MOST_CURVES < len(reports):
        note += f" Drawn are the {MOST_CURVES} curves with the largest area, of {len(reports)}."
    return "".join(
        [
            paragraph(explain_comparison(reports)),
            heading("Verdicts and figures"),
            table(comparison_table(reports)),
            heading("Certified ε against what is claimed"),
            epsilon_figure(rows_of_reports(reports), "Certified ε of every audit"),
            paragraph(BARS_NOTE, "note"),
            heading("Receiver operating characteristics") + comparison_figure(drawn, "roc-all") if drawn else "",
            paragraph(note, "note"),
        ]
    )


def _switch(reports: Sequence[KnownReport]) -> str:
    """Which audit is shown in full, by its name or by the level of its adversary."""
    options = "".join(
        tag(
            "option",
            escape(f"{number}  {line_of(report)}: {headline(report.epsilon, report.claimed)}, {report.verdict}"),
            value=f"run-{number}",
        )
        for number, report in enumerate(reports, start=1)
    )
    present = {report.level for report in reports}
    levels = [*(level for level in LADDER if level in present), *sorted(present - LADDER.keys())]
    radios = "".join(
        tag("label", f'<input type="radio" name="level" value="{escape(level)}">{escape(level)}') for level in levels
    )
    choice = tag("label", 'Audit <select id="run">' + options + "</select>")
    by_level = tag("fieldset", tag("legend", "Level") + radios) if len(levels) > 1 else ""
    return tag("nav", by_level + choice, class_="scripted", aria_label="Choose the audit that is shown in full")


def _footer(source: str, *, scores: bool) -> str:
    table = ", and scores.parquet" if scores else ""
    text = f"Drawn from {source}, which holds every figure in full{table}. This page reaches no network."
    return tag("footer", paragraph(text, "note"))


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
