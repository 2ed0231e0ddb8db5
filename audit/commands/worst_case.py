"""`audit worst-case`: does a private method keep what its ledger claims, where the adversary chooses the records?"""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from condensers.errors import BadConfig

NUM_CLASSES = 2
INPUT_SHAPE = (1, 8, 8)
TRIALS, TRIALS_WITHOUT_TIGHTNESS = 100_000, 8000


@click.command("worst-case")
@click.option("--method", default="ndpdc", show_default=True, help="A private condenser; `audit methods` lists them.")
@click.option("--epsilon", type=float, help="Calibrate the noise to this ε; default: the method's noise multiplier.")
@click.option("--delta", type=float, default=1e-5, show_default=True, help="δ of claim and bounds.")
@click.option(
    "--trials",
    type=int,
    help=f"Runs, half of them with the canary. [default: {TRIALS}, or {TRIALS_WITHOUT_TIGHTNESS} where the claim "
    "grants no family of mechanisms, so that there is no tightness to measure]",
)
@click.option("--rate", type=float, default=0.5, show_default=True, help="Rate at which a record is sampled.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any setting of the method; the default is a small network and few steps. May be repeated.",
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of bounds and verdict.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Folder that holds run directories; the record is kept in worst-case-METHOD-DIGEST/report.json.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the record of the audit as JSON.")  # fmt: skip
def worst_case(**flags: Any) -> int:
    """The transcript level: the adversary chooses neighbouring pools and hears every noisy sum.

    Runs of the real code, with and without one record, are told apart by their likelihood ratio. Headline: the
    verdict against the whole trade-off curve of the ledger (exit 4 if refuted), and the tightness, which is the ε that
    was shown over the ε that PLD proves. Ends with the path of a PDF; an HTML page stands beside it.
    """
    from reports.records import schema

    report = perform_worst_case(flags, lambda line: print(f"audit: {line}", file=sys.stderr, flush=True))
    click.echo(schema.dump(report) if flags["as_json"] else _for_people(report), nl=not flags["as_json"])
    return 4 if report.verdict == "REFUTED" else 0


def perform_worst_case(flags: dict[str, Any], say: Callable[[str], None]) -> Any:
    """The record of what the flags ask for."""
    from audit.store import RunDirectory
    from audit.worst_case import draw_worst_case, run_worst_case

    experiment = _experiment(flags)
    report = run_worst_case(experiment, _command({**flags, "trials": experiment.trials}), flags["out"], say)
    say("drawing the report")
    draw_worst_case(report, RunDirectory(Path(report.run_directory)))
    return report


def _experiment(flags: dict[str, Any]) -> Any:
    from audit.accounting.ledger import calibrate_method, claim_from_ledger
    from audit.resolve import split_changes
    from audit.settings import check_changes, parse_changes
    from audit.worst_case import Experiment, granted_family
    from condensers.registry import all_methods, get_method

    method = get_method(flags["method"])
    if method.plan is None:
        private = ", ".join(name for name, other in all_methods().items() if other.private)
        raise BadConfig(f"--method {method.name}: claims nothing and has no door to listen at; private are {private}")
    if not 0 < flags["rate"] <= 1:
        raise BadConfig(f"--rate {flags['rate']}: must lie in (0, 1]")
    changes = split_changes(flags["changes"], flags={})
    check_changes(changes, {"": method.config})
    preset = method.presets.get("worst-case", {})
    config = method.config(**preset | parse_changes(changes, method.config, prefix=""))
    class_sizes = _class_sizes(method, config, flags["rate"])
    if flags["epsilon"] is not None:
        if "noise_multiplier" in changes:
            raise BadConfig("--epsilon and --set noise_multiplier both decide the noise: give one of them")
        config = calibrate_method(method, config, class_sizes, epsilon=flags["epsilon"], delta=flags["delta"])
    planned = method.plan(config, class_sizes)
    trials = TRIALS_WITHOUT_TIGHTNESS if isinstance(granted_family(planned), str) else TRIALS
    experiment = Experiment(
        method=method,
        config=config,
        class_sizes=class_sizes,
        input_shape=INPUT_SHAPE,
        trials=trials if flags["trials"] is None else flags["trials"],
        seed=flags["seed"],
        delta=flags["delta"],
        confidence=flags["confidence"],
    )
    if flags["epsilon"] is None:
        claim_from_ledger(planned, flags["delta"])  # so little noise that nothing is claimed
    return experiment


def _class_sizes(method: Any, config: Any, rate: float) -> tuple[float, ...]:
    """Public class sizes with which a batch is sampled at this rate, from a class or from everybody."""
    from condensers.ledger import EVERYBODY

    per_class = (config.batch / rate,) * NUM_CLASSES
    if all(event.group is EVERYBODY for event, _ in method.plan(config, per_class)):
        return tuple(size / NUM_CLASSES for size in per_class)
    return per_class


def _command(flags: dict[str, Any]) -> str:
    """The command that gives this record again."""
    from audit.resolve import split_changes

    parts = ["audit worst-case", f"--method {shlex.quote(flags['method'])}"]
    if flags["epsilon"] is not None:
        parts.append(f"--epsilon {flags['epsilon']!r}")
    parts += [f"--{name} {flags[name]!r}" for name in ("delta", "rate", "confidence")]
    parts += [f"--{name} {flags[name]}" for name in ("trials", "seed")]
    changes = sorted(split_changes(flags["changes"]).items())
    return " ".join([*parts, *(f"--set {shlex.quote(f'{name}={value}')}" for name, value in changes)])


def _for_people(report: Any) -> str:
    from reports.words.rounding import down, percent, up

    claimed, headline = report.claimed, report.epsilon
    tightness = (
        f"none: {report.tightness_reason}"
        if report.tightness is None
        else f"{down(report.tightness, 3)}  (epsilon of the family bound over the epsilon that PLD proves)"
    )
    lines = [
        f"{report.verdict}  {report.verdict_reason}",
        "",
        f"claimed        epsilon {up(claimed.epsilon_pld, 3)} (PLD), {up(claimed.epsilon_rdp, 3)} (RDP) at delta "
        f"{claimed.delta:g}, from the {claimed.source}",
        f"tightness      {tightness}",
        f"canary         uses {report.canary_typical_length:.1%} of the clipping norm, at least "
        f"{down(100 * report.canary_length, 1)}% in every release",
    ]
    lines += [
        f"{bound.estimator:<17}epsilon >= {down(bound.lower, 3)}  ({percent(bound.confidence)} confidence, "
        f"{bound.num_trials} tested runs, ceiling {down(bound.ceiling)})"
        for bound in report.bounds
    ]
    lines += [
        f"{attempt.score + ', canary ' + attempt.design:<30}p = {attempt.test.p_value:.2g}"
        for attempt in report.attempts
    ]
    return "\n".join([*lines, "", headline.assumptions[-1], report.pdf])
