"""The report of `audit reproduce`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from reports.documents.blocks import (
    Block,
    Code,
    Definitions,
    Details,
    Document,
    Figure,
    Heading,
    Prose,
    Thumbnails,
)
from reports.figures.reproduction import curve_plot, map_plot
from reports.records.gallery import Pixels
from reports.records.reproduction import ReproductionReport
from reports.words import reproduction as words
from reports.words.bounds import REPEAT_NOTE, repeat_entries, settings_table

MAP_NOTE = (
    "Only synthetic images are shown, with pixels clipped to [0, 1]. Sets that occupy the same regions are alike; "
    "distances between clusters of a t-SNE map have no meaning."
)


@dataclass(frozen=True, kw_only=True)
class ReproductionMaterial:
    """The record, and synthetic images `[images, height, width, channels]` in [0, 1] by what they are."""

    report: ReproductionReport
    pictures: Mapping[str, Pixels] = field(default_factory=dict)


def build_reproduction(material: ReproductionMaterial) -> Document:
    """Published and ours side by side, curves, pictures, what cannot be run, how to repeat it."""
    report = material.report
    return Document(
        over="Reproduction of a table or figure",
        title=f"{report.item}: {report.title}",
        line=f"{report.item}, scale {report.scale}",
        subject=f"{words.summary(report)} Digest {report.digest}",
        reference=report.digest[:16],
        blocks=(
            Prose(text=f"{report.paper}; {report.where}.", kind="lead"),
            Prose(text=words.summary(report), kind="strong"),
            Prose(text=words.SCALES[report.scale]),
            Heading(text=f"Published and ours ({report.unit})"),
            words.rows_table(report),
            Prose(text=words.explain_intervals(report), kind="note"),
            *_figures(material),
            *_quoted(report),
            Heading(text="How to repeat this"),
            Prose(text=REPEAT_NOTE),
            Code(text=report.command),
            Definitions(entries=repeat_entries(report.digest, report.versions, Run_directory=report.run_directory)),
            Details(summary="What was run for each value", blocks=(Definitions(entries=_commands(report)),)),
            Details(summary="Specification", blocks=(settings_table(report.config),)),
        ),
        source="Drawn from report.json; table.csv and table.md hold the same rows.",
    )


def _figures(material: ReproductionMaterial) -> tuple[Block, ...]:
    report = material.report
    blocks: list[Block] = []
    if report.axis and any(row.ours is not None for row in report.rows):
        by_axis = words.rows_by_axis(report)
        for name, rows in by_axis.items():
            file = "curve" if len(by_axis) == 1 else f"curve-{name.replace(' ', '-')}"
            blocks += [
                Heading(text=f"By {name}"),
                Figure(plot=curve_plot(replace(report, rows=rows), name), name=file),
            ]
        blocks.append(Prose(text=words.CURVE_NOTE, kind="note"))
    for found in report.maps:
        blocks += [
            Heading(text=f"Map of synthetic images ({', '.join(filter(None, (found.dataset, found.kind)))})"),
            Figure(plot=map_plot(found), name="-".join(filter(None, ("map", found.dataset)))),
            Prose(text=MAP_NOTE, kind="note"),
        ]
    if material.pictures:
        blocks.append(Heading(text="Synthetic images"))
    for name, images in material.pictures.items():
        blocks += [Prose(text=name, kind="note"), Thumbnails(images=images, captions=("",) * len(images))]
    return tuple(blocks)


def _quoted(report: ReproductionReport) -> tuple[Block, ...]:
    if not report.quoted:
        return ()
    return (Heading(text="Not run here"), Definitions(entries=report.quoted))


def _commands(report: ReproductionReport) -> tuple[tuple[str, str], ...]:
    return tuple((words.name_of(row), row.command) for row in report.rows)
