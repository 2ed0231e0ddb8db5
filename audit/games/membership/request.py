"""The specification that asks for a configuration again: every choice that was made for a person is written out."""

from typing import Any, TypeVar

from audit.games.membership.config import AuditConfig
from audit.specs.membership import Compare, GanLeak, Ladder, Lira, Loss, Membership, ReleasedSets, Rmia
from audit.specs.spec import fields_of

KINDS: dict[str, type[Membership]] = {kind.COMMAND: kind for kind in (Lira, Rmia, Loss, GanLeak)}
Kind = TypeVar("Kind", bound=Membership)
# Fields that a configuration holds under the same name.
SAME = (
    "method", "dataset", "records", "level", "preset", "shadows", "fit_runs", "public_draws", "queries", "delta",
    "confidence", "tries", "claim", "epsilon", "independent_randomness", "shuffle_membership", "seed", "device",
    "shard_runs", "bits", "audited",
)  # fmt: skip


def resolved_spec(config: AuditConfig) -> Membership:
    """What gives these bytes again, wherever and with however many workers."""
    return resolved_as(KINDS.get(config.attack, Lira), config)


def resolved_as(kind: type[Kind], config: AuditConfig, **others: Any) -> Kind:
    """The same condensations under another kind of audit, `others` being fields of its own."""
    settings = config.method_config
    values: dict[str, Any] = {name: getattr(config, name) for name in SAME}
    values |= {
        "test_runs": config.test_runs,
        "fit_design": "coins" if config.enumerated is None else "enumerated",
        "canaries": config.canaries or None,
        "groups": None if config.groups is None else config.groups["asked"],
        "ipc": settings.get("ipc"),
        "init": settings.get("init"),
        "settings": dict(sorted(config.changes.items())),
    }
    if "compiled" in settings:
        values["compile"] = "on" if settings["compiled"] else "off"
    if issubclass(kind, Compare | Ladder):
        values["level"] = "model"
    if config.foreign is not None and issubclass(kind, ReleasedSets):
        facts = config.foreign
        values |= {
            "test_runs": None,
            "audited": None,
            "synthetic": tuple(facts["files"]),
            "index": tuple(facts["index"]),
            "column": tuple(facts["columns"] or ()),
            "members": facts["members_file"],
            "normalisation": facts["normalisation"],
            "known_randomness": not config.independent_randomness,
        }
    known = {name for name, _ in fields_of(kind)}
    return kind(**{name: value for name, value in (values | others).items() if name in known})
