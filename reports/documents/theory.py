"""The report of `audit theory`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reports.documents import sections
from reports.documents.blocks import Block, Document, Figure, Heading, Prose
from reports.figures.theory import distances_plot, images_plot, shifts_plot
from reports.records.gallery import Pixels
from reports.records.theory import TheoryReport
from reports.words import theory as words


@dataclass(frozen=True, kw_only=True)
class TheoryMaterial:
    """The record, and synthetic images `[images, height, width, channels]` in [0, 1] by how they were made."""

    report: TheoryReport
    pictures: Mapping[str, Pixels] = field(default_factory=dict)


def build_theory(material: TheoryMaterial) -> Document:
    """What follows, then the propositions and the leave-one-out bound as figures and tables."""
    report = material.report
    about = f"Distribution matching on {report.dataset}"
    return Document(
        **sections.measured("A published theory, tested by running it", about, "Theory", report.digest),
        blocks=(
            Prose(text=words.LEAD, kind="lead"),
            Prose(text=words.explain_assumption(report), kind="strong"),
            Prose(text=words.SYMBOLS_NOTE, kind="note"),
            Heading(text="What was found"),
            *(Prose(text=text) for text in words.conclusions(report)),
            Heading(text="Distance between the barycentres (Figure 7 of the paper)"),
            Figure(plot=distances_plot(report), name="figure7"),
            words.distances_table(report),
            Prose(text=words.DISTANCES_NOTE, kind="note"),
            Heading(text="Shift of an image when one record is left out"),
            Figure(plot=shifts_plot(report), name="leave_one_out"),
            Prose(text=words.GROUPS_NOTE, kind="note"),
            words.shifts_table(report),
            Prose(text=words.SHIFTS_NOTE, kind="note"),
            *_images(material),
            *sections.repeated(report),
        ),
        source=f"{sections.SOURCE}.",
    )


def _images(material: TheoryMaterial) -> tuple[Block, ...]:
    if not material.pictures:
        return ()
    return (
        Heading(text="Synthetic images (Figure 6 of the paper)"),
        Figure(plot=images_plot(material.pictures, len(material.report.ranks)), name="figure6"),
        Prose(text=words.FIGURE_6_NOTE, kind="note"),
    )
