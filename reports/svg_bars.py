"""Bars and histograms on the screen: ε on one scale, scores, exposure of records."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

from reports.records.scores import Floats, RecordExposure, ScoreHistogram
from reports.svg import Axis, area, box, curve, drawing, frame, line, marker, round_ticks, tag, text_at
from reports.words.epsilon_rows import EpsilonRow, right_end

_ROW = 30.0
_BARS = (250.0, 640.0)
_WIDTH = 820.0
_LONGEST_LABEL = 38


def epsilon_figure(rows: Sequence[EpsilonRow], what: str) -> str:
    """A bar per row: filled to what was certified, pale to the ceiling, a mark where the claim stands."""
    x = Axis(low=0.0, high=right_end(rows), start=_BARS[0], end=_BARS[1])
    top, bottom = 26.0, 26.0 + _ROW * len(rows)
    ticks = round_ticks(0, x.high, 8)
    parts = [line(x.at(value), top, x.at(value), bottom, class_="grid") for value in ticks]
    parts += [text_at(x.at(value), bottom + 17, f"{value:g}", class_="tick", text_anchor="middle") for value in ticks]
    parts.append(text_at((x.start + x.end) / 2, bottom + 35, "ε", class_="name", text_anchor="middle"))
    parts.append(text_at(_BARS[1] + 14, 16, "measured", class_="tick"))
    if any(row.claimed is not None for row in rows):
        parts.append(text_at(_BARS[1] + 98, 16, "claimed", class_="tick claim-text"))
    for place, row in enumerate(rows):
        parts.append(_bar(x, row, top + _ROW * place))
    parts.append(line(x.start, bottom, x.end, bottom, class_="axis"))
    said = "; ".join(f"{row.label}: ε {row.figure}" + (f", claimed {row.claim}" if row.claim else "") for row in rows)
    return tag("figure", drawing("".join(parts), _WIDTH, bottom + 44, f"{what}. {said}"), class_="bars")


def _bar(x: Axis, row: EpsilonRow, top: float) -> str:
    middle, thick = top + _ROW / 2, 15.0
    label = row.label if len(row.label) <= _LONGEST_LABEL else f"{row.label[: _LONGEST_LABEL - 1]}…"
    parts = [text_at(_BARS[0] - 10, middle + 4, label, class_="tick", text_anchor="end")]
    ceiling, lower = x.at(min(row.ceiling, x.high)), x.at(max(row.lower, 0.0))
    parts.append(box(x.start, middle - thick / 2, ceiling - x.start, thick, class_="ceiling"))
    fill = {"class_": "certified"} if row.certified else {"class_": "ratio", "fill": "url(#few)"}
    parts.append(box(x.start, middle - thick / 2, lower - x.start, thick, **fill))
    if row.claimed is not None and math.isfinite(row.claimed):
        place = x.at(row.claimed)
        parts.append(line(place, top + 4, place, top + _ROW - 3, class_="claim"))
        parts.append(marker("v", place, top + 5, class_="claim-mark"))
    parts.append(text_at(_BARS[1] + 14, middle + 4, row.figure, class_="figure"))
    parts.append(text_at(_BARS[1] + 98, middle + 4, row.claim, class_="tick claim-text"))
    return "".join(parts)


def scores_figure(histogram: ScoreHistogram) -> str:
    """Shares of scores per bin on a linear and on a logarithmic scale: members hatched, non-members as a line."""
    width, height, left, bottom, panel = 860.0, 280.0, 70.0, 226.0, 340.0
    highest = float(max(histogram.members.max(), histogram.nonmembers.max()))
    smallest = 0.5 / max(histogram.num_members, histogram.num_nonmembers)
    parts = []
    for index, name in enumerate(("share of scores per bin", "the same, logarithmic")):
        start = left + index * (panel + 90)
        low, high = float(histogram.edges[0]), float(histogram.edges[-1])
        x = Axis(low=low, high=high, start=start, end=start + panel)
        y = (
            Axis(low=smallest, high=highest * 1.3, start=bottom, end=26.0, logarithmic=True)
            if index
            else Axis(low=0.0, high=highest * 1.05, start=bottom, end=26.0)
        )
        parts.append(
            frame(x, y, x_ticks=round_ticks(low, high), y_ticks=y.decades() if index else round_ticks(0, y.high, 5),
                  x_name="score (higher: more likely a member)", y_name=name, percents="y")
        )  # fmt: skip
        edges = np.repeat(histogram.edges, 2)[1:-1]
        floor = np.full(edges.size, bottom)
        members, others = (y(np.repeat(shares, 2)) for shares in (histogram.members, histogram.nonmembers))
        parts.append(area(x(edges), floor, members, class_="members"))
        parts.append(area(x(edges), floor, members, class_="members-hatch", fill="url(#members)"))
        parts.append(curve(x(edges), others, class_="line nonmembers"))
    parts.append(box(left, 4, 26, 12, class_="members-hatch swatch", fill="url(#members)"))
    parts.append(text_at(left + 32, 14, "members", class_="tick"))
    parts.append(line(left + 110, 10, left + 138, 10, class_="line nonmembers"))
    parts.append(text_at(left + 144, 14, "non-members", class_="tick"))
    label = "Histogram of the scores of members and non-members, linear and logarithmic"
    return tag("figure", drawing("".join(parts), width, height, label), class_="wide")


def exposure_figure(exposure: RecordExposure, marked: Sequence[float]) -> str:
    """How many records reach which AUC of their own, against what chance would give."""
    low = min(0.2, float(exposure.auc.min()) - 0.02)
    edges = np.linspace(low, 1.0, 61)
    counts: Floats = np.histogram(exposure.auc, edges)[0].astype(np.float64)
    centres = np.linspace(low, 1, 200)
    expected = norm.pdf(centres, 0.5, exposure.chance_deviation) * exposure.auc.size * (edges[1] - edges[0])
    highest = 1.08 * float(max(counts.max(), expected.max()))
    x = Axis(low=low, high=1.0, start=70.0, end=830.0)
    y = Axis(low=0.0, high=highest, start=216.0, end=30.0)
    parts = [
        frame(x, y, x_ticks=round_ticks(low, 1, 9), y_ticks=round_ticks(0, highest, 5),
              x_name="AUC of the record over the test runs", y_name="records", percents="")
    ]  # fmt: skip
    steps = np.repeat(edges, 2)[1:-1]
    parts.append(area(x(steps), np.full(steps.size, y.start), y(np.repeat(counts, 2)), class_="members"))
    parts.append(curve(x(centres), y(expected), class_="line expected"))
    parts.append(line(x.at(exposure.chance_maximum), y.start, x.at(exposure.chance_maximum), y.end, class_="edge"))
    parts += [marker("v", x.at(value), y.start - 5, class_="rate") for value in marked]
    entries = (
        (box(0, 4, 26, 12, class_="members"), "records"),
        (line(0, 10, 26, 10, class_="line expected"), "expected if nothing leaked"),
        (line(0, 10, 26, 10, class_="edge"), "chance limit, 95%"),
        (marker("v", 13, 10, class_="rate"), "listed below"),
    )
    for place, (sign, name) in zip((70, 170, 400, 580), entries, strict=True):
        parts.append(tag("g", sign + text_at(34, 14, name, class_="tick"), transform=f"translate({place} 0)"))
    beyond = int((exposure.auc > exposure.chance_maximum).sum())
    label = f"Histogram of the AUC of {exposure.auc.size} records, {beyond} beyond the chance limit"
    return tag("figure", drawing("".join(parts), 860.0, 262.0, label), class_="wide")
