"""The scope of an audit, read off its record."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from reports.records import schema
from reports.records.attribute import AttributeReport
from reports.records.scope import KNOWN, PRIVATE, UNKNOWN, Scope, describe_scope
from reports.records.visual import VisualReport
from reports.records.worst_case import WorstCaseReport

AnyRecord = TypeVar("AnyRecord", schema.Report, VisualReport, WorstCaseReport, AttributeReport)


def in_scope(report: AnyRecord) -> AnyRecord:
    """The record with its scope, which the verdict's own sentences name wherever they are printed."""
    scope = scope_of_worst_case(report) if isinstance(report, WorstCaseReport) else scope_of_report(report)
    if report.verdict == "NOTHING TESTED":
        return replace(report, scope=scope)
    claimed = "" if report.claimed is None else " The claim covers any data at these settings."
    return replace(
        report, scope=scope, verdict_reason=f"{report.verdict_reason} Tested in: {describe_scope(scope)}.{claimed}"
    )


def scope_of_report(report: schema.Report | VisualReport | AttributeReport) -> Scope:
    """Of an audit with membership coins: `audit lira`, `rmia`, `loss`, `visual` and `attribute`."""
    game, config = report.game, report.config
    # Of sets that somebody else made the settings are not known; those in the configuration are of the shadows.
    settings = {} if config.get("foreign") is not None else config.get("method_config", {})
    audited = game.num_records if game.num_audited is None else game.num_audited
    members = game.num_records - audited * (1 - game.inclusion_probability)
    releases_network = game.public_randomness.startswith("none")
    return Scope(
        dataset=Path(report.dataset).name,  # of a file, without the folders of this machine
        members_per_class=members / game.num_classes if game.num_classes else None,
        ratio=None if releases_network else game.num_synthetic / members,
        steps=settings.get("iterations"),
        network=describe_network(settings),
        randomness=PRIVATE if releases_network else UNKNOWN if config.get("independent_randomness") else KNOWN,
        num_audited=game.num_audited,
        num_records=None if game.num_audited is None else game.num_records,
    )


def scope_of_worst_case(report: WorstCaseReport) -> Scope:
    """Of an audit of the worst case: the adversary chose the records; behind a door it knows the public randomness."""
    first = report.ledger[0]["group"] if report.ledger else None
    return Scope(
        dataset=Path(report.dataset).name,
        steps=sum(entry["count"] for entry in report.ledger if entry["group"] == first) or None,
        network=describe_network(report.config),
        randomness=KNOWN if report.ledger else UNKNOWN,
    )


def describe_network(settings: Mapping[str, Any]) -> str | None:
    """The feature extractor or kernel that a method matches with, in words; None where it has none."""
    if "kernel" in settings:
        name, number = (
            ("hidden layer", settings["hidden_layers"]) if settings["kernel"] == "fc" else ("block", settings["blocks"])
        )
        return f"{settings['kernel']} neural tangent kernel with {number} {name}{'' if number == 1 else 's'}"
    if {"width", "depth"} <= set(settings):
        kind = settings.get("extractor", settings.get("kind", "convnet"))
        return f"{kind} of depth {settings['depth']} and width {settings['width']}"
    return None
