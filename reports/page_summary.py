"""The first page: what was audited, what was found, what it means."""

from reports.figures.audits import draw_epsilon
from reports.figures.style import (
    BODY,
    CAPTION,
    EPSILON,
    HEADING,
    INK,
    MARGIN,
    PALE,
    QUIET,
    STRONG,
    SUBTITLE,
    TEXT_WIDTH,
    TITLE,
    VERDICT,
    VERDICT_COLOURS,
)
from reports.layout import Document, put_box, put_line, put_rule, put_text, shorten, text_width, wrap
from reports.records.schema import Claim, EpsilonBound, Report
from reports.words.wording import (
    CONTROL_NOTE,
    LADDER,
    LADDER_NOTE,
    claimed_epsilon,
    explain_bound,
    explain_game,
    explain_numbers,
    headline,
    key_numbers,
    seen_by,
    threat_entries,
)


def set_summary(document: Document, report: Report) -> None:
    """The first page: what was audited, what was found, what it means."""
    document.turn_page()
    put_line(document.sheet, "PRIVACY AUDIT OF A CONDENSED DATA SET", CAPTION, MARGIN, document.y)
    document.space(CAPTION.leading + 2)
    lines = wrap(f"{report.method} on {report.dataset}", TITLE, TEXT_WIDTH)
    for line in [*lines[:2], *([shorten("".join(lines[2:]), TITLE, TEXT_WIDTH)] if lines[2:] else [])]:
        put_line(document.sheet, line, TITLE, MARGIN, document.y)
        document.space(TITLE.leading)
    seen = f"Attack {report.attack}, level “{report.level}”: the adversary sees {seen_by(report.level)}."
    document.paragraph(seen, SUBTITLE, after=8)
    if report.game.membership_shuffled:
        document.paragraph(CONTROL_NOTE, STRONG)
    set_verdict(document, report.verdict, report.verdict_reason)
    set_epsilon(document, report.epsilon, report.claimed)
    set_game_and_numbers(document, report)
    _set_ladder(document, report)
    document.heading("Threat model and assumptions", keep=40)
    document.definitions(threat_entries(report))


def set_verdict(document: Document, verdict: str, reason: str) -> None:
    label_width = text_width("NOT REFUTED", VERDICT) + 28
    reason_width = TEXT_WIDTH - label_width - 24
    lines = wrap(reason, BODY, reason_width)
    height = max(len(lines) * BODY.leading + 18, 44)
    document.room(height)
    colour = VERDICT_COLOURS[verdict]
    put_box(document.sheet, MARGIN, document.y, TEXT_WIDTH, height, fill="white", edge=colour)
    put_box(document.sheet, MARGIN, document.y, label_width, height, fill=colour, edge=colour)
    middle = document.y + height / 2
    put_line(document.sheet, verdict, VERDICT, MARGIN + label_width / 2, middle - VERDICT.leading / 2, align="center")
    put_text(
        document.sheet,
        reason,
        BODY,
        MARGIN + label_width + 12,
        middle - len(lines) * BODY.leading / 2,
        reason_width,
    )
    document.space(height + 12)


def set_epsilon(document: Document, bound: EpsilonBound, claim: Claim | None) -> None:
    figure = headline(bound, claim)
    figure_width = text_width(figure, EPSILON) + 18
    text = explain_bound(bound)
    height = max(EPSILON.leading, len(wrap(text, BODY, TEXT_WIDTH - figure_width)) * BODY.leading)
    document.room(height + 80)
    put_line(document.sheet, figure, EPSILON, MARGIN, document.y + (height - EPSILON.leading) / 2)
    put_text(document.sheet, text, BODY, MARGIN + figure_width, document.y, TEXT_WIDTH - figure_width)
    document.space(height + 4)
    has_claim = claimed_epsilon(claim) is not None
    axes = document.axes(13, left=1, right=1, top=30 if has_claim else 18, bottom=26)
    draw_epsilon(axes, bound, claim)


def set_game_and_numbers(document: Document, report: Report) -> None:
    """Two columns: what was audited, and the key numbers."""
    left, gutter = 0.55 * TEXT_WIDTH, 18.0
    entries, numbers = explain_game(report), key_numbers(report)
    term_width = 72.0
    heights = [len(wrap(text, BODY, left - term_width)) * BODY.leading + 2.5 for _, text in entries]
    document.room(min(26 + sum(heights), 400))
    top = document.y
    for title, x, width in (
        ("What was audited", MARGIN, left),
        ("Key numbers", MARGIN + left + gutter, TEXT_WIDTH - left - gutter),
    ):
        put_line(document.sheet, title, HEADING, x, top)
        put_rule(document.sheet, x, top + HEADING.leading + 2, width, colour=INK, weight=0.8)
    top += HEADING.leading + 8
    y = top
    for (term, text), height in zip(entries, heights, strict=True):
        put_line(document.sheet, term, QUIET, MARGIN, y)
        put_text(document.sheet, text, BODY, MARGIN + term_width, y, left - term_width)
        y += height
    x, right = MARGIN + left + gutter, MARGIN + TEXT_WIDTH
    other = top
    for name, figure, interval in numbers:
        put_line(document.sheet, name, QUIET, x, other)
        put_line(document.sheet, figure, STRONG, right, other, align="right")
        if interval:
            put_line(document.sheet, interval, CAPTION, right, other + BODY.leading - 2, align="right")
        other += BODY.leading + (CAPTION.leading - 1 if interval else 2)
    other += 2
    other += put_text(document.sheet, explain_numbers(report), CAPTION, x, other, TEXT_WIDTH - left - gutter)
    document.y = max(y, other)


def _set_ladder(document: Document, report: Report) -> None:
    document.heading("Who sees what", keep=90)
    for level, seen in LADDER.items():
        audited = level == report.level
        face = STRONG if audited else QUIET
        lines = wrap(f"The adversary sees {seen}", BODY if audited else QUIET, TEXT_WIDTH - 190)
        height = len(lines) * BODY.leading + 4
        if audited:
            put_box(document.sheet, MARGIN, document.y, TEXT_WIDTH, height, fill=PALE, edge="none")
            put_line(document.sheet, "▶ audited here", STRONG, MARGIN + 6, document.y + 2)
        put_line(document.sheet, level, face, MARGIN + 100, document.y + 2)
        for index, line in enumerate(lines):
            put_line(
                document.sheet, line, BODY if audited else QUIET, MARGIN + 184, document.y + 2 + index * BODY.leading
            )
        document.space(height)
    document.space(3)
    document.paragraph(LADDER_NOTE, CAPTION)
