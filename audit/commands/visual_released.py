"""`audit visual --synthetic`: the nearest records of sets that somebody else released."""

import sys
from typing import Any

import click
from click.core import ParameterSource

from audit.commands.visual import exit_code, for_people, num_cores, visual_config
from audit.specs.pictures import Visual
from condensers.errors import BadConfig

OF_A_CONDENSATION = ("method", "ipc", "ratio", "init", "preset", "settings", "runs", "epsilon")
OF_A_TEST = ("claim", "fail_above", "fail_below_p", "shuffle_membership")
SPELLED = {"settings": "--set"}


def audit_released(spec: Visual, flags: dict[str, Any]) -> int:
    """Resolve, run, print; exit 4 as in any visual audit."""
    from audit.games.visual.released import run_released
    from audit.games.visual.run import VisualSettings
    from reports.records import schema
    from reports.records.visual import NearestReport

    _check(flags)
    config, pool, foreign, metrics = _resolve(spec, flags)
    settings = VisualSettings(
        out=flags["out"],
        jobs=flags["jobs"] or num_cores(),
        show_records=flags["show_records"],
        command=_command(config, foreign),
    )
    report = run_released(
        config, pool, foreign, metrics, settings, lambda line: print(f"audit: {line}", file=sys.stderr, flush=True)
    )
    untested = isinstance(report, NearestReport)
    text = _distances_for_people(report) if untested else for_people(report)
    click.echo(schema.dump(report) if flags["as_json"] else text, nl=not flags["as_json"])
    return 0 if untested else exit_code(flags, report)


def _check(flags: dict[str, Any]) -> None:
    context = click.get_current_context()
    for name in OF_A_CONDENSATION:
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise BadConfig(f"{_spell(name)}: has no meaning with --synthetic; nothing is condensed")
    if flags["members"] is None:
        for name in OF_A_TEST:
            if flags[name] not in (None, False):
                raise BadConfig(f"{_spell(name)}: nothing is tested without the coins of --synthetic, --members FILE")


def _spell(name: str) -> str:
    return SPELLED.get(name, f"--{name.replace('_', '-')}")


def _resolve(spec: Visual, flags: dict[str, Any]) -> tuple[Any, Any, Any, dict[str, Any]]:
    """The complete configuration, the pool, the sets, and the perceptual distances by name."""
    from audit.data.load import load_pool
    from audit.games import settings
    from audit.games.membership.foreign import read_foreign

    device = settings.resolve_device(flags["device"])
    pool = load_pool(flags["dataset"], data_root=flags["data_root"], records=flags["records"])
    foreign = read_foreign(spec, pool)
    config, metrics = visual_config(
        flags,
        pool,
        device,
        method="released",
        method_config={},
        preset="",
        changes={},
        runs=len(foreign.sets),
        epsilon=None,
        versions=settings.versions(None),
        foreign=foreign.facts,
    )
    return config, pool, foreign, metrics


def _command(config: Any, foreign: Any) -> str:
    """The command that gives these bytes again."""
    import shlex

    from audit.games.membership.foreign import spell_flags

    parts = ["audit visual", f"--dataset {shlex.quote(config.dataset)}"]
    parts += [] if config.records is None else [f"--records {config.records}"]
    parts += [f"--distance {name}" for name in config.asked]
    parts += [f"--delta {config.delta!r}", f"--confidence {config.confidence!r}", f"--seed {config.seed}"]
    parts += [f"--device {config.device}"]
    parts += [] if config.claim is None else [f"--claim {config.claim!r}"]
    parts += ["--shuffle-membership"] if config.shuffle_membership else []
    return " ".join([*parts, spell_flags(foreign)])


def _distances_for_people(report: Any) -> str:
    from reports.words.visual import UNTESTED

    lines = [UNTESTED, ""]
    lines += [
        f"{one.name:<15}{one.num_images} images"
        f"{'' if one.num_copies is None else f', {one.num_copies} of them equal to a record'}; distance to the nearest "
        f"{one.smallest:.3g} to {one.largest:.3g}, median {one.median:.3g}"
        for one in report.distances
    ]
    lines += [f"{left.name:<15}not computed: {left.why}" for left in report.not_computed]
    return "\n".join([*lines, "", report.pdf])
