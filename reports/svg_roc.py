"""Operating characteristics on the screen, over the region that the guarantee allows.

A figure is drawn twice, on logarithmic and on linear axes; the reader's switch shows one. Beside it stand, as JSON, the
places of its points and the words for each, finished here, so that the script only looks up what to show.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reports.figures.audits import lowest_rate
from reports.figures.labels import place_labels
from reports.figures.style import SERIES
from reports.records.allowed import FEWEST, allowed_at, allowed_region, lies_outside
from reports.records.protocols import AnyReport, Corner, NamedCurve
from reports.records.schema import HasCurve, Roc
from reports.records.scores import Floats
from reports.svg import Axis, area, box, curve, drawing, embed_json, frame, line, marker, round_ticks, tag, text_at
from reports.words.rounding import decimals_of, measured, percent, up_percent

WIDTH, HEIGHT = 640.0, 520.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 74.0, 610.0, 18.0, 466.0
_EVERY = 4
_LOWEST = 1e-4


@dataclass(frozen=True, kw_only=True)
class _Axes:
    """One of the two scales."""

    name: str
    x: Axis
    y: Axis
    grid: Floats

    @property
    def ticks(self) -> list[float]:
        return self.x.decades() if self.x.logarithmic else round_ticks(0, 1, 5)


def _both_scales(lowest: float) -> list[_Axes]:
    return [
        _Axes(
            name=name,
            x=Axis(low=low, high=1.0, start=_LEFT, end=_RIGHT, logarithmic=logarithmic),
            y=Axis(low=low, high=1.0, start=_BOTTOM, end=_TOP, logarithmic=logarithmic),
            grid=np.geomspace(lowest, 1, 161) if logarithmic else np.linspace(0, 1, 161),
        )
        for name, low, logarithmic in (("log", lowest, True), ("linear", 0.0, False))
    ]


def roc_figure(report: NamedCurve, num_nonmembers: int, identity: str, marks: Sequence[tuple[str, Corner]] = ()) -> str:
    """One audit: its curve with interval, chance, the allowed region and what lies outside of it."""
    rates = np.asarray(report.roc.curve["false_positive_rate"], dtype=np.float64)
    scales = _both_scales(lowest_rate(rates, num_nonmembers))
    label = f"Operating characteristic of {report.attack} on {report.method}: {_in_words(report.roc)}"
    true = np.asarray(report.roc.curve["true_positive_rate"], dtype=np.float64)
    pictures = [
        (axes.name, drawing(_draw(axes, report, num_nonmembers, marks) + _cursor(1), WIDTH, HEIGHT,
                            f"{label} ({axes.name} axes)", tabindex=0, data_scale=axes.name))
        for axes in scales
    ]  # fmt: skip
    places = {axes.name: {"x": _places(axes.x(rates)), "y": [_places(axes.y(true))]} for axes in scales}
    return _interactive(identity, pictures, {**places, "text": _words(report, num_nonmembers)})


def comparison_figure(numbered: Sequence[tuple[int, AnyReport, Roc]], identity: str) -> str:
    """Several audits: a curve each, with colour, dashes and marker of its own."""
    rates = np.asarray(numbered[0][2].curve["false_positive_rate"], dtype=np.float64)
    curves = [
        np.interp(rates, roc.curve["false_positive_rate"], roc.curve["true_positive_rate"]) for _, _, roc in numbered
    ]
    scales = _both_scales(_LOWEST)
    names = [f"{number}  {report.method}, {report.attack}, {report.level}" for number, report, _ in numbered]
    pictures = []
    for axes in scales:
        parts = [frame(axes.x, axes.y, x_ticks=axes.ticks, y_ticks=axes.ticks,
                       x_name="false positive rate", y_name="true positive rate")]  # fmt: skip
        parts.append(curve(axes.x(axes.grid), axes.y(axes.grid), class_="chance"))
        shown = rates > 0 if axes.x.logarithmic else rates >= 0
        for place, (true, series) in enumerate(zip(curves, SERIES, strict=False)):
            xs, ys = axes.x(rates[shown]), axes.y(true[shown])
            parts.append(curve(xs, ys, class_=f"line series-{place}"))
            parts += [
                marker(series.marker, xs[i], ys[i], class_=f"mark series-{place}")
                for i in range(5 * place % 20, xs.size, 20)
            ]
        parts.append(_series_legend(names))
        label = f"Operating characteristics of {len(numbered)} audits, {axes.name} axes: " + "; ".join(
            f"{name}: {_in_words(roc)}" for name, (_, _, roc) in zip(names, numbered, strict=True)
        )
        picture = "".join(parts) + _cursor(len(curves))
        pictures.append((axes.name, drawing(picture, WIDTH, HEIGHT, label, tabindex=0, data_scale=axes.name)))
    text = [
        [
            f"FPR {_rate(float(rate))}",
            *(
                f"{number}  {report.method}, {report.level}: TPR {_rate(float(true[index]))}"
                for (number, report, _), true in zip(numbered, curves, strict=True)
            ),
        ]
        for index, rate in enumerate(rates)
    ]
    places = {
        axes.name: {"x": _places(axes.x(rates)), "y": [_places(axes.y(true)) for true in curves]} for axes in scales
    }
    return _interactive(identity, pictures, {**places, "text": text})


def _draw(axes: _Axes, report: HasCurve, num_nonmembers: int, marks: Sequence[tuple[str, Corner]]) -> str:
    x, y = axes.x, axes.y
    region = allowed_region(report)
    parts, legend = [], []
    if region is not None:
        xs, edge = x(axes.grid), y(allowed_at(region, axes.grid))
        parts.append(area(xs, np.full(xs.size, _BOTTOM), edge, class_="allowed"))
        parts.append(area(xs, edge, np.full(xs.size, _TOP), class_="forbidden", fill="url(#forbidden)"))
        legend += ["allowed", "forbidden"]
    few = FEWEST / num_nonmembers
    if x.logarithmic and few > x.low:
        parts.append(box(_LEFT, _TOP, x.at(few) - _LEFT, _BOTTOM - _TOP, fill="url(#few)"))
        legend.append("few")
    names = {"x_name": "false positive rate", "y_name": "true positive rate"}
    parts.append(frame(x, y, x_ticks=axes.ticks, y_ticks=axes.ticks, **names))
    if region is not None:
        parts.append(curve(xs, edge, class_="edge"))
    parts.append(curve(x(axes.grid), y(axes.grid), class_="chance"))
    rates = np.asarray(report.roc.curve["false_positive_rate"], dtype=np.float64)
    shown = rates > 0 if x.logarithmic else rates >= 0
    lower, upper, true = (
        y(np.asarray(report.roc.curve[name])[shown]) for name in ("lower", "upper", "true_positive_rate")
    )
    parts.append(area(x(rates[shown]), lower, upper, class_="band"))
    parts.append(curve(x(rates[shown]), true, class_="line roc-line"))
    if region is not None and (outside := np.flatnonzero(lies_outside(report, region, num_nonmembers)[shown])).size:
        parts += [marker("X", x(rates[shown])[i], true[i], class_="outside") for i in outside[::_EVERY]]
        legend.append("outside")
    for key, rate in sorted(report.roc.tpr_at_fpr.items()):
        low, high = report.roc.tpr_at_fpr_interval[key]
        place = x.at(float(key))
        parts.append(line(place, y.at(low), place, y.at(high), class_="whisker"))
        parts.append(marker("o", place, y.at(rate), class_="rate"))
    places = [(x.at(corner.false_positive_rate), y.at(corner.true_positive_rate)) for _, corner in marks]
    offsets = place_labels(places, [name for name, _ in marks], size=13, mark=9)
    for spot, offset, (name, corner) in zip(places, offsets, marks, strict=True):
        parts.append(marker("s" if corner.outside else "D", *spot, class_="refutes" if corner.outside else "corner"))
        words = (spot[0] + offset[0], spot[1] + offset[1] + 4)
        parts.append(text_at(*words, name, class_="tick number", text_anchor="middle"))
    legend += [name for name, outside in (("refutes", True), ("corner", False))
               if any(corner.outside is outside for _, corner in marks)]  # fmt: skip
    return "".join(parts) + _legend([*legend, "chance", "band", "line"], report.roc)


def _legend(kinds: Sequence[str], roc: Roc) -> str:
    names = {
        "allowed": "allowed by the guarantee",
        "forbidden": "not allowed",
        "few": "fewer than 10 false positives",
        "outside": "outside, whole interval",
        "refutes": "attempt that refutes",
        "corner": "attempt",
        "chance": "chance",
        "band": f"{percent(roc.interval_confidence)} interval over {roc.interval_unit}s",
        "line": "this attack",
    }
    left, top = _RIGHT - 252, _BOTTOM - 10 - 19 * len(kinds)
    parts = [box(left, top - 4, 246, 19 * len(kinds) + 8, class_="legend")]
    for place, kind in enumerate(kinds):
        y = top + 19 * place + 9
        match kind:
            case "allowed" | "band":
                parts.append(box(left + 8, y - 6, 28, 12, class_=kind))
            case "forbidden" | "few":
                parts.append(box(left + 8, y - 6, 28, 12, class_=f"{kind} swatch", fill=f"url(#{kind})"))
            case "refutes" | "corner":
                parts.append(marker("s" if kind == "refutes" else "D", left + 22, y, class_=kind))
            case "outside":
                parts.append(marker("X", left + 22, y, class_="outside"))
            case _:
                parts.append(line(left + 8, y, left + 36, y, class_="line roc-line" if kind == "line" else kind))
        parts.append(text_at(left + 44, y + 4, names[kind], class_="tick"))
    return "".join(parts)


def _series_legend(names: Sequence[str]) -> str:
    left, top = _RIGHT - 262, _BOTTOM - 10 - 19 * len(names)
    parts = [box(left, top - 4, 256, 19 * len(names) + 8, class_="legend")]
    for place, (name, series) in enumerate(zip(names, SERIES, strict=False)):
        y = top + 19 * place + 9
        parts.append(line(left + 8, y, left + 48, y, class_=f"line series-{place}"))
        parts.append(marker(series.marker, left + 28, y, class_=f"mark series-{place}"))
        shown = name if len(name) <= 32 else f"{name[:31]}…"
        parts.append(text_at(left + 56, y + 4, shown, class_="tick"))
    return "".join(parts)


def _cursor(num_series: int) -> str:
    """What the script moves along the curves."""
    circles = "".join(tag("circle", cx=0, cy=0, r=5) for _ in range(num_series))
    guide = line(0, _TOP, 0, _BOTTOM)
    return tag("g", guide + circles, class_="cursor", visibility="hidden", aria_hidden="true")


def _interactive(identity: str, pictures: Sequence[tuple[str, str]], data: dict[str, object]) -> str:
    choices = "".join(
        tag(
            "label",
            f'<input type="radio" name="scale-{identity}" value="{name}"{" checked" if name == "log" else ""}>'
            + {"log": "logarithmic", "linear": "linear"}[name],
        )
        for name, _ in pictures
    )
    return "".join(
        [
            f'<figure class="plot" id="{identity}">',
            f'<fieldset class="switch scripted"><legend>Axes</legend>{choices}</fieldset>',
            *(picture for _, picture in pictures),
            '<div class="tip" role="status" aria-live="polite"></div>',
            f'<script type="application/json">{embed_json(data)}</script>',
            '<figcaption class="scripted hint">Point at the curve, or focus the figure and use the arrow keys, to '
            "read it.</figcaption></figure>",
        ]
    )


def _words(report: HasCurve, num_nonmembers: int) -> list[list[str]]:
    """What the reader is told at each rate."""
    region = allowed_region(report)
    data = {name: np.asarray(values, dtype=np.float64) for name, values in report.roc.curve.items()}
    rates = data["false_positive_rate"]
    allowed = None if region is None else allowed_at(region, rates)
    outside = None if region is None else lies_outside(report, region, num_nonmembers)
    share = percent(report.roc.interval_confidence)
    words = []
    for index, rate in enumerate(rates):
        interval = (float(data["lower"][index]), float(data["upper"][index]))
        digits = max(decimals_of((100 * interval[0], 100 * interval[1]), most=3), 1)
        low, high = (percent(end, digits) for end in interval)
        told = [
            f"FPR {_rate(float(rate))}",
            f"TPR {percent(float(data['true_positive_rate'][index]), digits)}",
            f"{share} interval [{low}, {high}]",
        ]
        if allowed is not None and outside is not None:
            told.append(f"allowed: at most {up_percent(float(allowed[index]))}")
            if outside[index]:
                told.append("outside, with its whole interval")
        words.append(told)
    return words


def _in_words(roc: Roc) -> str:
    figure, interval = measured(roc.auc, roc.auc_interval)
    return f"AUC {figure} {interval}"


def _rate(rate: float) -> str:
    return percent(float(f"{rate:.3g}"))


def _places(values: Floats) -> list[float]:
    return [round(float(value), 1) for value in values]
