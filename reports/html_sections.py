"""The sections of one audit on the page, in the words and figures of the PDF."""

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from reports.figures.mosaic import arrange, compose
from reports.material import Material
from reports.page_closing import flatten
from reports.records.allowed import allowed_region, explain_outside
from reports.records.gallery import Gallery, Panel, Pixels
from reports.records.protocols import AnyReport
from reports.records.schema import VERDICTS, Ladder, Report
from reports.svg import escape, tag
from reports.svg_bars import epsilon_figure, exposure_figure, scores_figure
from reports.svg_roc import roc_figure
from reports.words.epsilon_rows import rows_of_bounds, rows_of_ladder
from reports.words.rounding import count, measured_percent
from reports.words.tables import (
    Table,
    bounds_table,
    exposed_table,
    groups_of,
    groups_table,
    ladder_table,
    outlook_table,
    protocols_table,
    rates_table,
)
from reports.words.wording import (
    BARS_NOTE,
    CONTROL_NOTE,
    GROUPS_NOTE,
    HIDDEN_NOTE,
    LADDER,
    LADDER_NOTE,
    PICKED_NOTE,
    RATIO_NOTE,
    REAL_NOTE,
    SCORES_NOTE,
    explain_bound,
    explain_claim,
    explain_exposure,
    explain_game,
    explain_headline,
    explain_numbers,
    explain_outlook,
    explain_roc,
    explain_scores,
    headline,
    key_numbers,
    limits,
    seen_by,
    threat_entries,
    trained_network,
)

NOT_SETTINGS = ("versions", "weights", "left_out")  # said elsewhere on the page
_SIGNS = {"REFUTED": "✗", "NOT REFUTED": "●", "NO CLAIM": "○"}


def audit_sections(material: Material, identity: str) -> str:
    """One audit, verdict first."""
    report, gallery = material.report, material.gallery
    parts = [
        _verdict(report),
        _against_claim(report),
        _game_and_numbers(report),
        _roc(material, identity),
        ladder_section(report.ladder) if report.ladder is not None else "",
        _exposed(material),
        _groups(report),
        matches_section(gallery.matches),
        _synthetic(gallery),
        _utility(report),
        _threat(report),
        _outlook(report),
        _bounds(report),
        _scores(material),
        _repeat(report),
        heading("What this audit cannot tell") + definitions(limits(report)),
    ]
    return "".join(parts)


def heading(text: str) -> str:
    return tag("h3", escape(text))


def paragraph(text: str, kind: str | None = None) -> str:
    return tag("p", escape(text), class_=kind)


def definitions(entries: Sequence[tuple[str, str]]) -> str:
    return tag("dl", "".join(tag("dt", escape(term)) + tag("dd", escape(text)) for term, text in entries))


def table(content: Table, kind: str | None = None) -> str:
    """A table; a cell that is a verdict is marked as one."""
    sides = ["right" if column.align == "right" else None for column in content.columns]
    head = "".join(
        tag("th", escape(column.title), class_=side, scope="col")
        for column, side in zip(content.columns, sides, strict=True)
    )
    rows = "".join(
        tag(
            "tr",
            "".join(
                tag("td", tag("span", escape(cell)), data_verdict=cell)
                if cell in VERDICTS
                else tag("td", escape(cell), class_=side)
                for cell, side in zip(row, sides, strict=True)
            ),
        )
        for row in content.rows
    )
    whole = tag("table", tag("thead", tag("tr", head)) + tag("tbody", rows), class_=kind)
    return tag("div", whole, class_="scroll")


def ladder_section(ladder: Ladder) -> str:
    """Model, set and transcript against each other."""
    return "".join(
        [
            heading("The ladder of adversaries"),
            epsilon_figure(rows_of_ladder(ladder), f"Certified ε of {ladder.method} by level of the adversary"),
            table(ladder_table(ladder)),
            paragraph(f"{BARS_NOTE} {LADDER_NOTE}", "note"),
        ]
    )


def matches_section(panels: Sequence[Panel]) -> str:
    """Synthetic images beside the real ones nearest to them, given only where the person asked."""
    if not panels:
        return ""
    rows = "".join(_thumbs(panel.images, panel.captions) for panel in panels)
    return heading("Visual matches") + paragraph(REAL_NOTE, "alarm") + rows


def _verdict(report: Report) -> str:
    seen = f"Attack {report.attack}, level “{report.level}”: the adversary sees {seen_by(report.level)}."
    return found(report, seen, explain_bound(report.epsilon), control=report.game.membership_shuffled)


def found(report: AnyReport, seen: str, explained: str, *, control: bool = False) -> str:
    """Who attacks, the verdict, and the figure that was certified."""
    sign = f"{_SIGNS[report.verdict]}\u00a0{report.verdict}"
    parts = [
        paragraph(seen, "sub"),
        paragraph(CONTROL_NOTE, "alarm") if control else "",
        tag("div", tag("strong", escape(sign)) + paragraph(report.verdict_reason), class_="verdict",
            data_verdict=report.verdict),
        tag("div", tag("b", escape(headline(report.epsilon, report.claimed)))
            + paragraph(explained), class_="headline"),
    ]  # fmt: skip
    return "".join(parts)


def _against_claim(report: Report) -> str:
    return "".join(
        [
            heading("Analytic against empirical ε"),
            epsilon_figure(rows_of_bounds(report), "Measured ε of every estimator"),
            paragraph(f"Claimed: {explain_claim(report)}" if report.claimed else explain_claim(report)),
            paragraph(BARS_NOTE, "note"),
        ]
    )


def _game_and_numbers(report: Report) -> str:
    numbers = "".join(
        tag("tr", tag("td", escape(name)) + tag("td", tag("b", escape(figure)), class_="right")
            + tag("td", escape(interval)))
        for name, figure, interval in key_numbers(report)
    )  # fmt: skip
    entries = [entry for entry in explain_game(report) if entry[0] != "Claimed"]
    left = heading("What was audited") + definitions(entries)
    right = heading("Key numbers") + tag("div", tag("table", tag("tbody", numbers), class_="numbers"), class_="scroll")
    right += paragraph(explain_numbers(report), "note")
    return tag("div", tag("div", left) + tag("div", right), class_="columns")


def _roc(material: Material, identity: str) -> str:
    report, num_nonmembers = material.report, material.histogram.num_nonmembers
    region = allowed_region(report)
    return "".join(
        [
            heading("Receiver operating characteristic" + (" over what is allowed" if region is not None else "")),
            roc_figure(report, num_nonmembers, f"roc-{identity}"),
            paragraph(explain_roc(num_nonmembers), "note"),
            paragraph(explain_outside(report, region, num_nonmembers), "note") if region is not None else "",
            table(rates_table(report, num_nonmembers)),
        ]
    )


def _exposed(material: Material) -> str:
    report, exposure = material.report, material.exposure
    parts = [heading("Most exposed records")]
    if exposure is not None:
        beyond = int((exposure.auc > exposure.chance_maximum).sum())
        parts.append(exposure_figure(exposure, [record.auc for record in report.exposed]))
        parts.append(paragraph(explain_exposure(exposure.auc.size, beyond, exposure.chance_maximum), "note"))
    else:
        parts.append(paragraph("Too few test runs held or lacked each record to say what chance alone would give it."))
    if not report.exposed:
        return "".join([*parts, paragraph("None are listed in this report.")])
    parts.append(paragraph(PICKED_NOTE))
    if material.gallery.exposed is None:
        parts.append(paragraph(HIDDEN_NOTE))
    else:
        parts.append(paragraph(REAL_NOTE, "alarm"))
        names = [f"record {entry.record}" for entry in report.exposed]
        parts.append(_thumbs(material.gallery.exposed, names))
    parts.append(table(exposed_table(report), "narrow"))
    parts.append(paragraph(SCORES_NOTE, "note"))
    return "".join(parts)


def _groups(report: Report) -> str:
    groups = groups_of(report)
    if not groups:
        return ""
    return heading("Ordinary records and canaries") + table(groups_table(groups)) + paragraph(GROUPS_NOTE, "note")


def _synthetic(gallery: Gallery) -> str:
    if gallery.synthetic is None or gallery.synthetic_labels is None:
        note = gallery.note or "The synthetic set is not drawn."
        return heading("Synthetic set of one run") + paragraph(note)
    mosaic = arrange(gallery.synthetic_labels)
    shown, total = int((mosaic.cells >= 0).sum()), len(gallery.synthetic)
    which = f"All {count(total)} images" if shown == total else f"{shown} of {count(total)} images"
    rows, columns = mosaic.cells.shape
    alt = f"{shown} synthetic images in {rows} rows of up to {columns}; labels of the rows: {', '.join(mosaic.labels)}"
    mosaic_picture = picture(compose(gallery.synthetic, mosaic.cells), alt, width=min(900, 72 * columns))
    caption = f"{which} of the first run, by class. Pixels beyond the range of the data are cut for display."
    return heading("Synthetic set of one run") + tag("figure", mosaic_picture + tag("figcaption", escape(caption)))


def _utility(report: Report) -> str:
    """What the synthetic set is worth: the price of the figures above."""
    if report.utility is None:
        return heading("Utility") + paragraph("Not measured.")
    figure, interval = measured_percent(report.utility.accuracy, report.utility.accuracy_interval)
    text = (
        f"{trained_network(report)} reaches an accuracy of {figure} {interval} on "
        f"{report.utility.measured_on.rstrip('.')}."
    )
    return heading("Utility") + paragraph(text)


def _threat(report: Report) -> str:
    return heading("Threat model and assumptions") + definitions(threat_entries(report)) + levels_table(report.level)


def levels_table(audited: str) -> str:
    """Who sees what, and which of them was the adversary here."""
    rows = "".join(
        tag(
            "tr",
            tag("td", escape("▶ audited here" if level == audited else ""))
            + tag("td", escape(level))
            + tag("td", escape(f"The adversary sees {seen}")),
            class_="here" if level == audited else None,
        )
        for level, seen in LADDER.items()
    )
    levels = tag("div", tag("table", tag("tbody", rows), class_="level"), class_="scroll")
    return levels + paragraph(LADDER_NOTE, "note")


def _outlook(report: Report) -> str:
    if not report.outlook:
        return ""
    text = paragraph(explain_outlook(report), "note")
    return heading("Ceilings, and what more runs would buy") + table(outlook_table(report.outlook)) + text


def _bounds(report: Report) -> str:
    parts = [heading("Every bound that was computed"), table(bounds_table(report.bounds, report.paper_style_epsilon))]
    parts.append(paragraph(f"{explain_headline(report.epsilon)} {RATIO_NOTE}", "note"))
    if report.protocols:
        parts += [heading("Published protocols, run as published"), table(protocols_table(report))]
    return "".join(parts)


def _scores(material: Material) -> str:
    histogram = material.histogram
    text = explain_scores(histogram.num_members, histogram.num_nonmembers, histogram.folded)
    return heading("Scores of members and non-members") + scores_figure(histogram) + paragraph(text, "note")


def _repeat(report: Report) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in sorted(report.versions.items()))
    entries = [
        ("Digest", f"{report.digest}, over everything that determines the result"),
        ("Run directory", report.run_directory),
        ("Public randomness", report.game.public_randomness),
        ("Seed", str(report.game.seed)),
        ("Versions", versions),
    ]
    return repeat(report.command, entries, report.config)


def repeat(command: str, entries: Sequence[tuple[str, str]], config: dict[str, Any]) -> str:
    """The command, what identifies the result, and every setting."""
    settings = flatten({name: value for name, value in config.items() if name not in NOT_SETTINGS})
    rows = "".join(tag("tr", tag("td", tag("code", escape(name))) + tag("td", tag("code", escape(value))))
                   for name, value in settings)  # fmt: skip
    whole = tag("summary", "Configuration, whole") + tag("table", tag("tbody", rows), class_="settings")
    return "".join(
        [
            heading("How to repeat this audit"),
            paragraph("The same command, version and seed give the same scores and the same report:"),
            tag("pre", tag("code", escape(command)), tabindex=0),
            definitions(entries),
            tag("details", whole),
        ]
    )


def _thumbs(images: Pixels, captions: Sequence[str]) -> str:
    figures = "".join(
        tag("figure", picture(image, caption) + tag("figcaption", escape(caption)))
        for image, caption in zip(images, captions, strict=True)
    )
    return tag("div", figures, class_="thumbs")


def picture(pixels: Pixels, alt: str, width: int | None = None) -> str:
    """One picture `[height, width, channels]` in [0, 1] within the page itself."""
    levels = np.round(255 * np.clip(pixels, 0, 1)).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(levels[..., 0] if levels.shape[-1] == 1 else levels).save(stream, format="PNG", optimize=True)
    source = base64.b64encode(stream.getvalue()).decode()
    size = "" if width is None else f' width="{width}"'
    return f'<img src="data:image/png;base64,{source}" alt="{escape(alt)}"{size}>'
