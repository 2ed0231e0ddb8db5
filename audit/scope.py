"""The scope of an audit, read off its record."""

from collections.abc import Mapping
from typing import Any

from reports.records import schema
from reports.records.scope import KNOWN, PRIVATE, UNKNOWN, Scope
from reports.records.worst_case import WorstCaseReport


def scope_of_report(report: schema.Report) -> Scope:
    """Of an audit with membership coins: `audit lira`, `rmia`, `loss` and `visual`."""
    game, config = report.game, report.config
    settings = config.get("method_config", {})
    members = game.num_records * game.inclusion_probability
    releases_network = game.public_randomness.startswith("none")
    return Scope(
        dataset=report.dataset,
        members_per_class=members / game.num_classes,
        ratio=None if releases_network else game.num_synthetic / members,
        steps=settings.get("iterations"),
        network=describe_network(settings),
        randomness=PRIVATE if releases_network else KNOWN if game.public_randomness.startswith("shared") else UNKNOWN,
    )


def scope_of_worst_case(report: WorstCaseReport) -> Scope:
    """Of an audit of the transcript: the adversary chose the records and knows the public randomness."""
    return Scope(
        dataset=report.dataset,
        steps=sum(entry["count"] for entry in report.ledger if entry["group"] == report.ledger[0]["group"]),
        network=describe_network(report.config),
        randomness=KNOWN,
    )


def describe_network(settings: Mapping[str, Any]) -> str | None:
    """The feature extractor or kernel that a method matches with, in words; None where it has none."""
    if "kernel" in settings:
        sizes = {"fc": f"{settings['hidden_layers']} hidden layers", "conv": f"{settings['blocks']} blocks"}
        return f"{settings['kernel']} neural tangent kernel with {sizes[settings['kernel']]}"
    if {"width", "depth"} <= set(settings):
        kind = settings.get("extractor", settings.get("kind", "convnet"))
        return f"{kind} of depth {settings['depth']} and width {settings['width']}"
    return None
