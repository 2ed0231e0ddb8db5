"""`audit worst-case`: does a private method keep what its ledger claims, where the adversary chooses the records?"""

import shlex
import sys
from typing import Any

import click

from condensers.errors import BadConfig

NUM_CLASSES = 2
INPUT_SHAPE = (1, 8, 8)


@click.command("worst-case")
@click.option("--method", default="ndpdc", show_default=True, help="A private condenser; `audit methods` lists them.")
@click.option("--epsilon", type=float, help="Calibrate the noise to this ε; default: the method's noise multiplier.")
@click.option("--delta", type=float, default=1e-5, show_default=True, help="δ of claim and bounds.")
@click.option("--trials", type=int, default=60_000, show_default=True, help="Runs, half of them with the canary.")
@click.option("--rate", type=float, default=0.5, show_default=True, help="Rate at which a class is sampled.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any setting of the method; the default is a small network and few steps. May be repeated.",
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of bounds and verdict.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything.")
@click.option("--json", "as_json", is_flag=True, help="Print the record of the audit as JSON.")  # fmt: skip
def worst_case(**flags: Any) -> int:
    """The transcript level: the adversary chooses neighbouring pools and hears every noisy sum.

    Runs of the real code, with and without one record, are told apart by their likelihood ratio. Headline: the
    verdict against the whole trade-off curve of the ledger (exit 4 if refuted), and the tightness, which is the ε that
    was shown over the ε that PLD proves.
    """
    from audit.worst_case import run_worst_case
    from reports import schema

    report = run_worst_case(
        _experiment(flags), _command(flags), lambda line: print(f"audit: {line}", file=sys.stderr, flush=True)
    )
    click.echo(schema.dump(report) if flags["as_json"] else _for_people(report), nl=not flags["as_json"])
    return 4 if report.verdict == "REFUTED" else 0


def _experiment(flags: dict[str, Any]) -> Any:
    from audit.accounting.events import branches
    from audit.accounting.ledger import calibrate_method, claim_from_ledger, ledger_event
    from audit.resolve import split_changes
    from audit.settings import check_changes, parse_changes
    from audit.worst_case import Experiment
    from condensers.registry import all_methods, get_method

    method = get_method(flags["method"])
    if method.plan is None:
        private = ", ".join(name for name, other in all_methods().items() if other.private)
        raise BadConfig(f"--method {method.name}: claims nothing and has no door to listen at; private are {private}")
    if "worst-case" not in method.presets:
        raise BadConfig(f"--method {method.name}: not audited at the door yet (its samples are of fixed size)")
    if not 0 < flags["rate"] <= 1:
        raise BadConfig(f"--rate {flags['rate']}: must lie in (0, 1]")
    changes = split_changes(flags["changes"])
    check_changes(changes, {"": method.config})
    config = method.config(**method.presets["worst-case"] | parse_changes(changes, method.config, prefix=""))
    class_sizes = (config.batch / flags["rate"],) * NUM_CLASSES
    if [len(leaves) for leaves in branches(ledger_event(method.plan(config, class_sizes)))] != [1]:
        raise BadConfig(
            f"--method {method.name}: tightness is that of one mechanism, repeated, and these settings compose several "
            "(of dosser: --set auxiliary=noise does not)"
        )
    if flags["epsilon"] is not None:
        if "noise_multiplier" in changes:
            raise BadConfig("--epsilon and --set noise_multiplier both decide the noise: give one of them")
        config = calibrate_method(method, config, class_sizes, epsilon=flags["epsilon"], delta=flags["delta"])
    experiment = Experiment(
        method=method,
        config=config,
        class_sizes=class_sizes,
        input_shape=INPUT_SHAPE,
        trials=flags["trials"],
        seed=flags["seed"],
        delta=flags["delta"],
        confidence=flags["confidence"],
    )
    if flags["epsilon"] is None:
        claim_from_ledger(method.plan(config, class_sizes), flags["delta"])  # so little noise that nothing is claimed
    return experiment


def _command(flags: dict[str, Any]) -> str:
    parts = ["audit worst-case", f"--method {flags['method']}"]
    if flags["epsilon"] is not None:
        parts.append(f"--epsilon {flags['epsilon']:g}")
    parts += [f"--{name} {flags[name]:g}" for name in ("delta", "rate", "confidence")]
    parts += [f"--{name} {flags[name]}" for name in ("trials", "seed")]
    return " ".join([*parts, *(f"--set {shlex.quote(pair)}" for pair in flags["changes"])])


def _for_people(report: Any) -> str:
    claimed, family = report.claimed, report.epsilon
    lines = [
        f"{report.verdict}  {report.verdict_reason}",
        "",
        f"claimed        epsilon {claimed.epsilon_pld:.3f} (PLD), {claimed.epsilon_rdp:.3f} (RDP) at delta "
        f"{claimed.delta:g}, from the {claimed.source}",
        f"tightness      {report.tightness:.3f}  (epsilon of the family bound over the epsilon that PLD proves)",
        f"canary         uses {report.canary_length:.1%} of the clipping norm in every release",
    ]
    lines += [
        f"{bound.estimator:<17}epsilon >= {bound.lower:.3f}  ({bound.confidence:.0%} confidence, {bound.num_trials} "
        f"tested runs, ceiling {bound.ceiling:.2f})"
        for bound in report.bounds
    ]
    lines += [
        f"{attempt.score + ', canary ' + attempt.design:<30}p = {attempt.test.p_value:.2g}"
        for attempt in report.attempts
    ]
    return "\n".join([*lines, "", family.assumptions[-1]])
