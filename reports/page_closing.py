"""The last page: how to repeat the audit, and what it cannot tell."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reports.figures.style import CAPTION, CODE, MARGIN, PALE, SMALL_CODE, TEXT_WIDTH, Face
from reports.layout import Column, Document, break_word, printable, put_box, text_width
from reports.records.schema import Report
from reports.words.wording import limits


def set_reproduction(document: Document, report: Report) -> None:
    document.turn_page()
    document.heading("How to repeat this audit")
    document.paragraph("The same command, version and seed give the same scores and the same report:")
    set_code(document, report.command)
    document.definitions(
        [
            ("Digest", f"{report.digest}, over everything that determines the result"),
            ("Run directory", report.run_directory),
            ("Public randomness", report.game.public_randomness),
            ("Seed", str(report.game.seed)),
            ("Versions", ", ".join(f"{name} {version}" for name, version in sorted(report.versions.items()))),
        ]
    )
    document.heading("Configuration")
    entries = list(flatten({name: value for name, value in report.config.items() if name != "versions"}))
    half = -(-len(entries) // 2)
    left, right = entries[:half], entries[half:] + [("", "")] * (2 * half - len(entries))
    document.table(
        [
            Column(title="setting", share=0.25, face=SMALL_CODE),
            Column(title="value", share=0.25, face=SMALL_CODE),
            Column(title="setting", share=0.25, face=SMALL_CODE),
            Column(title="value", share=0.25, face=SMALL_CODE),
        ],
        [[*first, *second] for first, second in zip(left, right, strict=True)],
        dense=True,
    )


def set_limits(document: Document, report: Report) -> None:
    document.heading("What this audit cannot tell", keep=120)
    document.definitions(limits(report))
    document.paragraph(
        "Drawn from report.json, which holds every figure of these pages in full, and scores.parquet. A character that "
        "the fonts lack is shown as \ufffd.",
        CAPTION,
    )


def set_code(document: Document, command: str) -> None:
    """A shell command in a shaded box, parted by backslashes so that it can be copied as it stands."""
    lines = wrap_command(command, CODE, TEXT_WIDTH - 20)
    for start in range(0, len(lines), 40):
        part = lines[start : start + 40]
        height = len(part) * CODE.leading + 10
        document.room(height)
        put_box(document.sheet, MARGIN, document.y, TEXT_WIDTH, height, fill=PALE, edge="none")
        document.space(5)
        document.lines(part, CODE, x=MARGIN + 10)
        document.space(5)
    document.space(8)


def wrap_command(command: str, face: Face, width: float) -> list[str]:
    """Lines of a shell command, an option kept with its value where they fit; joined by the shell they are the command.

    A line parted between words ends in a space and a backslash, one parted within a word in the backslash alone.
    """
    room = width - text_width(" \\", face)
    lines: list[str] = []
    line = ""
    for unit in _options_with_values(printable(command, face).split(" ")):
        candidate = f"{line} {unit}" if line else unit
        if text_width(candidate, face) <= room:
            line = candidate
            continue
        if line:
            lines.append(f"{line} \\")
        *full, line = break_word(unit, face, room)
        lines.extend(f"{piece}\\" for piece in full)
    return [*lines, line]


def _options_with_values(words: Sequence[str]) -> list[str]:
    units: list[str] = []
    for word in words:
        last = units[-1] if units else ""
        if last.startswith("-") and " " not in last and not word.startswith("-"):
            units[-1] = f"{last} {word}"
        else:
            units.append(word)
    return units


def flatten(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Settings as (dotted name, value), sorted by name."""
    for name, value in sorted(settings.items()):
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            shown = list(value) if isinstance(value, tuple) else value  # as it is read back
            yield f"{prefix}{name}", "none" if value is None else str(shown)
