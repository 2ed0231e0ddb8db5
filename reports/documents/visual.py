"""The reports of `audit visual`: tested where it is known who was in, nearest records alone where it is not."""

from dataclasses import dataclass

from reports.documents import sections
from reports.documents.blocks import Block, Code, Definitions, Document, Figure, Heading, Prose
from reports.figures.panel import panel_plot
from reports.records.allowed import allowed_region
from reports.records.gallery import Pictures
from reports.records.visual import NearestReport, VisualReport
from reports.words import visual as words
from reports.words.bounds import REAL_NOTE, explain_accountants, explain_bound, explain_claim, repeat_entries
from reports.words.membership import RATIO_NOTE
from reports.words.roc import explain_outside


@dataclass(frozen=True, kw_only=True)
class VisualMaterial:
    """A tested visual audit, and the pictures that may be shown."""

    report: VisualReport
    pictures: Pictures


@dataclass(frozen=True, kw_only=True)
class NearestMaterial:
    """Nearest records of released sets, untested, and the pictures that may be shown."""

    report: NearestReport
    pictures: Pictures


def build_visual(material: VisualMaterial) -> Document:
    """The whole report."""
    return Document(
        **sections.framed(material.report),
        blocks=findings(material) + rest(material),
        source=f"{sections.SOURCE}.",
    )


def build_nearest(material: NearestMaterial) -> Document:
    """Distances and the panel; nothing is tested, so there is neither verdict nor bound."""
    report = material.report
    return Document(
        over="Nearest records of a released set",
        title=f"{report.method} on {report.dataset}",
        line=f"{report.method} on {report.dataset}, nearest records",
        subject=f"nothing tested; digest {report.digest}",
        reference=report.digest[:16],
        blocks=(
            Prose(text="The records nearest to every synthetic image, of the same class.", kind="lead"),
            Prose(text=words.UNTESTED, kind="strong"),
            words.distances_table(report),
            Definitions(entries=words.distance_entries(report)),
            *_panel(report, material.pictures),
            Heading(text="How to repeat this"),
            Code(text=report.command),
        ),
        source=f"{sections.SOURCE}.",
    )


def findings(material: VisualMaterial) -> tuple[Block, ...]:
    """What was found, on one page."""
    report, others = material.report, words.num_nonmembers(material.report)
    region, displaced = allowed_region(report), words.explain_displaced(report)
    said = words.roc_note(report)
    if region is not None:
        said = f"{said} {explain_outside(report, region, others)}"
    return (
        *sections.opening(report, words.SEEN, explain_bound(report.epsilon), control=report.game.membership_shuffled),
        Heading(text=words.tests_title(report)),
        Prose(text=words.explain_tests(report)),
        words.tests_table(report),
        Definitions(entries=words.distance_entries(report)),
        *((Prose(text=displaced, kind="note"),) if displaced else ()),
        Heading(text=words.roc_title(report)),
        sections.curve(report, others, name="roc", of=f"{report.attack} on {report.method}"),
        Prose(text=said, kind="note"),
    )


def rest(material: VisualMaterial) -> tuple[Block, ...]:
    """The panel, all bounds, adversary, how to repeat it."""
    report = material.report
    weights = {f"Weights_of_{name}": f"sha256 {value}" for name, value in sorted(report.weights.items())}
    repeated = repeat_entries(report.digest, report.versions, Seed=str(report.game.seed), **weights)
    claim = (
        f"Claimed: {explain_claim(report)}{explain_accountants(report.claimed)}"
        if report.claimed
        else explain_claim(report)
    )
    return (
        *_panel(report, material.pictures),
        *sections.against_claim(report, "Measured ε of every distance", claim),
        *sections.all_bounds(
            report.bounds,
            report.epsilon,
            ratio=report.paper_style_epsilon,
            note="" if report.paper_style_epsilon is None else RATIO_NOTE,
        ),
        *sections.threat(report),
        *sections.limits(words.limit_entries(report)),
        *sections.repeat(report.command, repeated, report.config),
    )


def _panel(report: VisualReport | NearestReport, pictures: Pictures) -> tuple[Block, ...]:
    said = words.HIDDEN_TOO if "--show-records" in pictures.note else words.HIDDEN
    hidden = " ".join(part for part in (pictures.note, said) if part)
    return (
        Heading(text=words.PANEL_TITLE),
        Prose(text=REAL_NOTE, kind="alarm") if pictures.records else Prose(text=hidden),
        Figure(plot=panel_plot(report.panel, pictures), name="panel"),
        Prose(text=words.panel_note(report), kind="note"),
    )
