"""The report of `audit lira`, `rmia` and `loss`."""

from dataclasses import dataclass

import pandas as pd

from reports.documents import sections
from reports.documents.blocks import (
    Block,
    Columns,
    Definitions,
    Document,
    Figure,
    Heading,
    KeyNumbers,
    Prose,
    Thumbnails,
)
from reports.documents.ladder import ladder_section
from reports.figures.mosaic import arrange, set_plot
from reports.figures.scores import exposure_plot, scores_plot
from reports.records.allowed import allowed_region
from reports.records.gallery import Gallery
from reports.records.schema import Report
from reports.records.scores import RecordExposure, ScoreHistogram, check_scores, record_exposure, score_histogram
from reports.words import membership as words
from reports.words.bounds import REAL_NOTE, explain_bound, repeat_entries, seen_by
from reports.words.coin_test import explain_coin_test
from reports.words.groups import explain_groups, groups_table, title_of_groups
from reports.words.intervals import noted
from reports.words.ladder import explain_ladder, ladder_headline, seen_by_levels
from reports.words.roc import explain_outside, explain_roc
from reports.words.rounding import count
from reports.words.tables import exposed_table, outlook_table, protocols_table, rates_table


@dataclass(frozen=True, kw_only=True)
class MembershipMaterial:
    """A record, what its scores show and its pictures: a few kilobytes, however long the score table was."""

    report: Report
    histogram: ScoreHistogram
    exposure: RecordExposure | None
    gallery: Gallery


def gather_membership(report: Report, *, scores: pd.DataFrame, gallery: Gallery) -> MembershipMaterial:
    """Raises ValueError, in one line, where the inputs do not fit together.

    `scores` has the columns run, record, member and score of the test runs.
    """
    check_scores(scores, auc=report.roc.auc)
    if gallery.exposed is not None and len(gallery.exposed) != len(report.exposed):
        raise ValueError(f"{len(gallery.exposed)} images for {len(report.exposed)} exposed records")
    return MembershipMaterial(
        report=report, histogram=score_histogram(scores), exposure=record_exposure(scores), gallery=gallery
    )


def build_membership(material: MembershipMaterial) -> Document:
    """The whole report."""
    return Document(
        **sections.framed(material.report)
        | ({"over": sections.OVER_MODELS} if words.is_own_models(material.report) else {}),
        blocks=findings(material) + rest(material),
        source=f"{sections.SOURCE}, and scores.parquet.",
        withheld=("synthetic",) if material.gallery.synthetic is None else (),
    )


def findings(material: MembershipMaterial) -> tuple[Block, ...]:
    """What was found, on one page."""
    report, num_nonmembers = material.report, material.histogram.num_nonmembers
    seen = f"Attack {report.attack}, level “{report.level}”: the adversary sees {seen_by(report.level)}."
    explained, figure = explain_bound(report.epsilon, num_drawn=words.num_coins(report)), ""
    if report.ladder is not None:
        seen = seen_by_levels(report.ladder, report.attack, report.level)
        explained, figure = explain_ladder(report.ladder), ladder_headline(report.ladder)
    region = allowed_region(report)
    title = "Receiver operating characteristic (ROC)"
    said = explain_roc(report.roc, num_nonmembers)
    if region is not None:
        title, said = (
            f"{title} and what the claim allows",
            f"{said} {explain_outside(report, region, num_nonmembers)}",
        )
    return (
        *sections.opening(report, seen, explained, figure=figure, control=report.game.membership_shuffled),
        *(() if report.ladder is None else ladder_section(report.ladder)),
        Columns(
            left=(Heading(text="What was audited"), Definitions(entries=words.explain_game(report))),
            right=(Heading(text="Key numbers"), KeyNumbers(rows=words.key_numbers(report))),
        ),
        Prose(text=words.explain_numbers(report), kind="note"),
        Heading(text=title),
        sections.curve(report, num_nonmembers, name="roc", of=f"{report.attack} on {report.method}"),
        Prose(text=said, kind="note"),
    )


def rest(material: MembershipMaterial) -> tuple[Block, ...]:
    """Evidence in full, adversary, records, how to repeat it."""
    report = material.report
    repeated = repeat_entries(
        report.digest,
        report.versions,
        Run_directory=report.run_directory,
        Public_randomness=f"{report.game.public_randomness}; seed {report.game.seed}",
    )
    return (
        Heading(text="True positive rates at low false positive rates"),
        rates_table(report, material.histogram.num_nonmembers),
        Prose(text=noted(report.roc.interval_unit), kind="note"),
        *sections.against_claim(report, "Measured ε of every estimator"),
        *sections.all_bounds(
            report.bounds,
            report.epsilon,
            ratio=report.paper_style_epsilon,
            resting="verdict" if report.ladder is None else f"verdict at level “{report.level}”",
            note=words.ratio_note(report),
        ),
        *_curve_test(report),
        *_protocols(report),
        *_displacement(report),
        *_outlook(report),
        *sections.threat(report),
        *_scores(material.histogram),
        *_exposed(material),
        *_groups(report),
        *_matches(material.gallery),
        *(() if words.is_own_models(report) else _synthetic(material.gallery)),
        *sections.limits(words.limits(report)),
        *sections.repeat(report.command, repeated, report.config),
    )


def _curve_test(report: Report) -> tuple[Block, ...]:
    return () if report.curve_test is None else (Prose(text=explain_coin_test(report.curve_test), kind="note"),)


def _protocols(report: Report) -> tuple[Block, ...]:
    if not report.protocols:
        return ()
    note = Prose(text=noted(report.protocols[0].interval_unit), kind="note")
    return Heading(text="Protocols of the literature, run as published"), protocols_table(report), note


def _displacement(report: Report) -> tuple[Block, ...]:
    if report.displacement is None:
        return ()
    title = "How far images moved from the records that they started from"
    return Heading(text=title), Prose(text=words.explain_displacement(report.displacement))


def _outlook(report: Report) -> tuple[Block, ...]:
    if not report.outlook:
        return ()
    title, said = "What more runs could certify", words.explain_outlook(report)
    return Heading(text=title), outlook_table(report.outlook), Prose(text=said, kind="note")


def _exposed(material: MembershipMaterial) -> tuple[Block, ...]:
    report, exposure, images = material.report, material.exposure, material.gallery.exposed
    blocks: list[Block] = [Heading(text="Most exposed records")]
    if exposure is None:
        blocks.append(Prose(text=words.explain_no_exposure(report)))
    else:
        beyond = int((exposure.auc > exposure.chance_maximum).sum())
        said = words.explain_exposure(exposure.auc.size, beyond, exposure.chance_maximum)
        blocks.append(Figure(plot=exposure_plot(exposure, [record.auc for record in report.exposed])))
        blocks.append(Prose(text=said, kind="note"))
    if not report.exposed:
        return tuple(blocks)
    hidden = images is None and not words.is_own_models(report)
    blocks.append(Prose(text=f"{words.PICKED_NOTE} {words.HIDDEN_NOTE}" if hidden else words.PICKED_NOTE))
    if images is not None:
        captions = tuple(f"record {entry.record}" for entry in report.exposed)
        blocks += [Prose(text=REAL_NOTE, kind="alarm"), Thumbnails(images=images, captions=captions)]
    return (*blocks, exposed_table(report), Prose(text=words.SCORES_NOTE, kind="note"))


def _groups(report: Report) -> tuple[Block, ...]:
    if not report.groups:
        return ()
    return (
        Heading(text=title_of_groups(report)),
        groups_table(report.groups),
        Prose(text=f"{explain_groups(report)} {noted(report.roc.interval_unit)}", kind="note"),
    )


def _matches(gallery: Gallery) -> tuple[Block, ...]:
    """Synthetic images beside the real ones nearest to them, given only where the person asked."""
    if not gallery.matches:
        return ()
    rows = (Thumbnails(images=panel.images, captions=panel.captions) for panel in gallery.matches)
    return Heading(text="Visual matches"), Prose(text=REAL_NOTE, kind="alarm"), *rows


def _synthetic(gallery: Gallery) -> tuple[Block, ...]:
    title = Heading(text="Synthetic set of one run")
    if gallery.synthetic is None or gallery.synthetic_labels is None:
        return title, Prose(text=gallery.note or "The synthetic set of this run is not available to be drawn.")
    mosaic, total = arrange(gallery.synthetic_labels), len(gallery.synthetic)
    shown = int((mosaic.cells >= 0).sum())
    which = f"All {count(total)} images" if shown == total else f"{shown} of {count(total)} images"
    note = f"{which} of the first run, by class. Pixels outside the range of the data are clipped for display."
    return title, Figure(plot=set_plot(gallery.synthetic, mosaic), name="synthetic"), Prose(text=note, kind="note")


def _scores(histogram: ScoreHistogram) -> tuple[Block, ...]:
    said = words.explain_scores(histogram.num_members, histogram.num_nonmembers, histogram.folded)
    return (
        Heading(text="Scores of members and non-members"),
        Figure(plot=scores_plot(histogram), name="scores"),
        Prose(text=said, kind="note"),
    )
