"""`audit visual`: do synthetic images look like records that were in? Counted and tested, and shown where asked."""

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from audit.specs.options import build, with_fields
from audit.specs.pictures import DISTANCES, Visual
from condensers.errors import BadConfig


@click.command()
@with_fields(Visual)
@click.option(
    "--lpips-weights",
    "files",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Backbone of LPIPS as safetensors, in torchvision's names. Repeatable.",
)
@click.option("--download", is_flag=True, help="Let torchvision fetch a backbone that is not here.")
@click.option("--jobs", type=int, help="Threads that compare by LPIPS; default: one per core.")
@click.option("--data-root", type=click.Path(path_type=Path), help="Folder of data sets.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Folder that holds run directories.",
)
@click.option("--show-records", is_flag=True, help="Show real images in the PDF and its panel; they are private.")
@click.option("--fail-above", type=float, help="Exit 4 if the bound exceeds this ε.")
@click.option("--fail-below-p", type=float, help="Exit 4 if an adjusted p-value is below this.")
@click.option("--json", "as_json", is_flag=True, help="Print the record of the audit as JSON.")  # fmt: skip
def visual(**flags: Any) -> int:
    """Nearest real images of every synthetic one, by L2 and LPIPS: how many of them are members?

    Condenses random halves of a pool, guesses for each synthetic image that its nearest record was in, and tests the
    count against fair coins. Ends with the path of a PDF whose panel shows real images only with --show-records. With
    --synthetic and --members the sets of somebody else are tested; without --members they are shown only.
    """
    spec = build(Visual, flags)
    from reports.records import schema

    if spec.synthetic:
        from audit.commands.visual_released import audit_released

        _check(flags)
        return audit_released(spec, flags)
    report = perform_visual(flags, lambda line: print(f"audit: {line}", file=sys.stderr, flush=True))
    click.echo(schema.dump(report) if flags["as_json"] else for_people(report), nl=not flags["as_json"])
    return exit_code(flags, report)


def perform_visual(flags: dict[str, Any], say: Callable[[str], None]) -> Any:
    """The record of what the flags ask for."""
    from audit.games.visual.run import VisualSettings, run_visual

    _check(flags)
    config, pool, metrics = _resolve(build(Visual, flags), flags)
    settings = VisualSettings(
        out=flags["out"],
        jobs=flags["jobs"] or num_cores(),
        show_records=flags["show_records"],
        command=_command(config),
    )
    return run_visual(config, pool, metrics, settings, say)


def exit_code(flags: dict[str, Any], report: Any) -> int:
    above = flags["fail_above"] is not None and report.epsilon.lower > flags["fail_above"]
    smallest = min(finding.p_value_adjusted for finding in report.distances)
    below = flags["fail_below_p"] is not None and smallest < flags["fail_below_p"]
    return 4 if report.verdict == "REFUTED" or above or below else 0


def _check(flags: dict[str, Any]) -> None:
    if flags["jobs"] is not None and flags["jobs"] < 1:
        raise BadConfig(f"--jobs {flags['jobs']}: must be at least 1")
    if flags["fail_above"] is not None and not flags["fail_above"] >= 0:
        raise BadConfig(f"--fail-above {flags['fail_above']}: must be a number, 0 or more")
    if flags["fail_below_p"] is not None and not 0 <= flags["fail_below_p"] <= 1:
        raise BadConfig(f"--fail-below-p {flags['fail_below_p']}: must lie in [0, 1]")


def _resolve(spec: Visual, flags: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """The complete configuration, the pool, and the perceptual distances by name."""
    from audit.data.load import load_pool
    from audit.games import settings
    from audit.games.membership.resolve import own_settings, resolve_method
    from condensers.registry import get_method, require_set

    method = get_method(flags["method"])
    require_set(method, "there is nothing to look at")
    changes = own_settings(spec.settings)
    settings.check_changes(changes, {"": method.config})
    device = settings.resolve_device(flags["device"])
    pool = load_pool(flags["dataset"], data_root=flags["data_root"], records=flags["records"])
    ipc = settings.resolve_ipc(pool, flags["ipc"], flags["ratio"])
    pool, method_config = resolve_method(method, pool, ipc, spec, flags["data_root"])
    config, metrics = visual_config(
        flags,
        pool,
        device,
        method=method.name,
        method_config=dict(vars(method_config)),
        preset=flags["preset"],
        changes=changes,
        runs=flags["runs"],
        epsilon=flags["epsilon"],
        versions=settings.versions(method),
    )
    return config, pool, metrics


def visual_config(flags: dict[str, Any], pool: Any, device: str, **own: Any) -> tuple[Any, dict[str, Any]]:
    """The configuration of any sets, `own` saying whose they are; the perceptual distances by name."""
    from audit.data.load import pool_checksum
    from audit.games.visual.match import NETWORKS, VisualConfig

    weights, left_out = choose_weights(flags, pool)
    names = tuple(name for name in flags["distances"] or DISTANCES if name == "l2" or name in weights)
    config = VisualConfig(
        dataset=flags["dataset"],
        records=flags["records"],
        asked=tuple(dict.fromkeys(flags["distances"])),
        distances=tuple(dict.fromkeys(names)),
        left_out=left_out,
        weights={NETWORKS[name]: found.checksum for name, found in weights.items()},
        seed=flags["seed"],
        delta=flags["delta"],
        confidence=flags["confidence"],
        claim=flags["claim"],
        shuffle_membership=flags["shuffle_membership"],
        device=device,
        data_checksum=pool_checksum(pool),
        **own,
    )
    return config, load_metrics(weights, device)


def choose_weights(flags: dict[str, Any], pool: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Backbones by name of distance. What was asked for by name must be there; what was not is left out, with why."""
    from attacks.perceptual import fits_images
    from audit.data.weights import describe_absence, find_weights, read_file
    from audit.games.visual.match import NETWORKS

    given = {read_file(path).network: path for path in flags["files"]}
    asked = [name for name in flags["distances"] if name in NETWORKS]
    tried = asked or (
        [] if flags["distances"] else [name for name in NETWORKS if name == "lpips" or NETWORKS[name] in given]
    )
    for network, path in given.items():
        if network not in {NETWORKS[name] for name in tried}:
            raise BadConfig(f"--lpips-weights {path}: holds {network}, which no --distance that is asked for uses")
    found, left_out = {}, {}
    for name in tried:
        shape = tuple(pool.images.shape[1:])
        weights = None
        why = f"LPIPS compares pictures of one or three channels; records of {pool.name} have shape {list(shape)}"
        if fits_images(shape):
            why = describe_absence(NETWORKS[name])
            weights = find_weights(NETWORKS[name], flags["files"], download=flags["download"])
        if weights is not None:
            found[name] = weights
        elif asked:
            raise BadConfig(f"--distance {name}: {why}")
        else:
            left_out[name] = why
    return found, left_out


def load_metrics(weights: dict[str, Any], device: str) -> dict[str, Any]:
    import torch

    from attacks.perceptual import load_perceptual

    return {
        name: load_perceptual(found.network, found.tensors, torch.device(device)) for name, found in weights.items()
    }


def _command(config: Any) -> str:
    """The command that gives these bytes again."""
    parts = ["audit visual", f"--method {shlex.quote(config.method)}", f"--dataset {shlex.quote(config.dataset)}"]
    parts += [] if config.records is None else [f"--records {config.records}"]
    parts += [f"--{name} {config.method_config[name]}" for name in ("ipc", "init") if name in config.method_config]
    parts += [f"--preset {config.preset}", f"--runs {config.runs}"]
    parts += [f"--distance {name}" for name in config.asked]
    parts += [f"--delta {config.delta!r}", f"--confidence {config.confidence!r}", f"--seed {config.seed}"]
    parts += [f"--device {config.device}"]
    parts += [] if config.claim is None else [f"--claim {config.claim!r}"]
    parts += [] if config.epsilon is None else [f"--epsilon {config.epsilon!r}"]
    parts += ["--shuffle-membership"] if config.shuffle_membership else []
    parts += [f"--set {shlex.quote(f'{name}={value}')}" for name, value in sorted(config.changes.items())]
    return " ".join(parts)


def num_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def for_people(report: Any) -> str:
    from audit.games.visual.match import describe_finding
    from reports.words.intervals import bracketed
    from reports.words.rounding import down, percent, probability

    lines = [f"{report.verdict}  {report.verdict_reason}", "", report.finding]
    for finding in report.distances:
        low, high = finding.roc.auc_interval
        lines += [
            f"{finding.name:<15}{describe_finding(finding)} "
            f"(adjusted for the number of distances: {probability(finding.p_value_adjusted)})",
            f"{'':<15}ε ≥ {down(finding.bound.lower)} ({percent(finding.bound.confidence)} confidence, δ = "
            f"{finding.bound.delta:g}; had every guess been right: {down(finding.most_certifiable)}), "
            f"AUC {finding.roc.auc:.4f} [{low:.4f}, {high:.4f}]{bracketed(finding.roc.interval_unit)}",
        ]
    lines += [f"{left.name:<15}not computed: {left.why}" for left in report.not_computed]
    return "\n".join([*lines, "", report.pdf])
