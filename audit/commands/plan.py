"""`audit plan`: how many trials a bound needs, with which estimator, and what an audit will cost."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import condensers
from audit.commands.workers import executor_of, with_workers
from condensers.errors import BadConfig
from condensers.plugins import check_name, directory_part

if TYPE_CHECKING:
    from audit.games.probe.cost import Cost
    from audit.statistics.plan import Plan

# Options that only the question for a cost has, with the fields of a specification that they are.
MOST_NODES = 10_000
COST_OPTIONS = ("dataset", "level", "ipc", "preset", "shard_runs", "settings")


@click.command(short_help="How many runs a bound needs and how long an audit will take.")
@click.option(
    "--epsilon", type=float, help="Assumed true ε of the mechanism; the number of trials that certify it is printed."
)
@click.option("--delta", type=float, default=1e-5, show_default=True, help="δ of the bound.")
@click.option("--tightness", type=float, default=0.8, show_default=True, help="Fraction of ε to certify.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Confidence of the bound.")
@click.option("--unit", type=click.Choice(["run", "record", "both"]), default="both", show_default=True,
              help="What one trial is: a run with one canary, or a membership coin.")  # fmt: skip
@click.option("--records", type=int, help="Records in the pool, to convert membership coins into runs.")
@click.option("--method", help="Method, for the expected time from finished runs under --out or from a probe.")
@click.option("--shadows", type=int, help="Estimate the time of this many runs with a probe of a few seconds.")
@click.option("--trials", type=int, help="With --attack worst-case: estimate the time of this many trials.")
@click.option(
    "--attack",
    type=click.Choice(["lira", "rmia", "loss", "worst-case"]),
    default="lira",
    show_default=True,
    help="The audit whose cost is estimated.",
)
@click.option("--nodes", type=int, default=1, show_default=True, help="Number of machines like this one.")
@click.option("--dataset", help="Data set of the audit whose cost is estimated.")
@click.option("--level", help="Level of the audit whose cost is estimated.")
@click.option("--ipc", type=int, help="Synthetic images per class.")
@click.option("--preset", help="Preset of the audit whose cost is estimated.")
@click.option("--shard-runs", type=int, help="Runs computed together.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the audit. May be repeated.")
@click.option("--data-root", type=click.Path(path_type=Path), help="Folder that holds data sets.")
@with_workers
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True,
              help="Folder that holds run directories.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def plan(
    epsilon: float | None,
    delta: float,
    tightness: float,
    confidence: float,
    unit: str,
    records: int | None,
    method: str | None,
    shadows: int | None,
    trials: int | None,
    attack: str,
    nodes: int,
    out: Path,
    as_json: bool,
    **flags: Any,
) -> None:
    """Compute how many trials certify a given share of epsilon, and how long an audit will take.

    \b
    audit plan --epsilon 1 --delta 1e-5 --tightness 0.8
    audit plan --epsilon 4 --records 1797 --method dm
    audit plan --method dm --shadows 256 --nodes 4
    audit plan --attack worst-case --method ndpdc --trials 100000
    """
    if method is not None:
        check_name("--method", method, condensers, "condenser")
    if not 1 <= nodes <= MOST_NODES:
        raise BadConfig(f"--nodes {nodes}: must lie in 1…{MOST_NODES}")
    answers: dict[str, Any] = {}
    said = []
    if shadows is not None or trials is not None:
        asked = {"method": method, "records": records, "shadows": shadows, "trials": trials, "delta": delta}
        cost = _cost(attack, {**asked, "confidence": confidence}, flags)
        times = {"seconds": cost.seconds(), "nodes": nodes, "seconds_on_nodes": cost.seconds(nodes)}
        answers["cost"] = {**asdict(cost), **times}
        said.append(_describe_cost(cost, nodes))
    elif epsilon is None:
        raise BadConfig("give --epsilon for the number of trials, or --method with --shadows or --trials for the cost")
    else:
        _refuse_without_size({**{name: flags[name] for name in COST_OPTIONS}, "nodes": nodes - 1 and nodes})
    if epsilon is not None:
        from audit.statistics.plan import make_plan, measured_seconds

        timing = None if method is None else measured_seconds(out, directory_part(method))
        result = make_plan(
            epsilon=epsilon,
            delta=delta,
            tightness=tightness,
            confidence=confidence,
            unit=unit,
            num_records=records,
            seconds_per_run=None if timing is None else timing[0],
            time_source="" if timing is None else timing[1],
        )
        answers |= asdict(result)
        said.append(_describe(result))
    click.echo(json.dumps(answers, indent=2, sort_keys=True) if as_json else "\n\n".join(said))


def _refuse_without_size(options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value:
            option = "set" if name == "settings" else name.replace("_", "-")
            raise BadConfig(f"--{option}: describes an audit whose cost is estimated; give --shadows or --trials too")


def _cost(attack: str, asked: dict[str, Any], flags: dict[str, Any]) -> "Cost":
    """Probe the audit that is asked for."""
    from audit.commands.attack import say
    from audit.engine.where import Where
    from audit.games.predict import predict
    from audit.specs.membership import Lira, Loss, Rmia
    from audit.specs.options import split_settings
    from audit.specs.worst_case import WorstCase

    kind: Any = {"lira": Lira, "rmia": Rmia, "loss": Loss, "worst-case": WorstCase}[attack]
    wanted, other = ("trials", "shadows") if kind is WorstCase else ("shadows", "trials")
    if asked[wanted] is None or asked[other] is not None:
        raise BadConfig(f"--attack {attack}: give the size of the audit as --{wanted}, and leave --{other} out")
    given = asked | {name: flags[name] for name in COST_OPTIONS} | {"settings": split_settings(flags["settings"])}
    given = {name: value for name, value in given.items() if value not in (None, {})}
    for name in given:
        if name not in kind.__struct_fields__:
            raise BadConfig(f"--{name.replace('_', '-')}: has no meaning with --attack {attack}")
    return predict(kind(**given), Where(out=Path(), executor=executor_of(flags), data_root=flags["data_root"]), say)


def _describe_cost(cost: "Cost", nodes: int) -> str:
    def row(name: str, number: int) -> str:
        driver, other = cost.memory(number)
        memory = f"{driver / 2**30:.1f} GiB" + (f", {other / 2**30:.1f} on each other node" if other else "")
        return f"{name:<16}{number * cost.workers:>8}{duration(cost.seconds(number)):>12}  {memory}"

    largest = max(cost.unit_seconds, default=0.0)
    lines = [
        f"{cost.what}: {cost.num_units} shards of {duration(largest)}; {duration(cost.rest_seconds)} for the driver "
        f"alone; {duration(cost.processor_seconds)} of processor time",
        f"{'where':<16}{'workers':>8}{'time':>12}  memory",
        row("this machine", 1),
    ]
    if nodes > 1:
        lines.append(row(f"{nodes} nodes", nodes))
    lines.append(
        f"estimated from a probe of {cost.probe_seconds:.0f} s, under the present load of this machine (docs/scale.md)"
    )
    return "\n".join(lines)


def _describe(result: "Plan") -> str:
    from reports.words.rounding import down, percent, say_delta

    lines = [
        f"Trials needed to certify {percent(result.tightness)} of ε = {result.epsilon:g} at {say_delta(result.delta)} "
        f"with {percent(result.confidence)} confidence,",
        f"for an optimal attack on the Gaussian mechanism with that ε (μ = {result.mu:.3g}). Half of the trials are",
        "used to choose the threshold; runs to fit an attack are not included. (An audit that chooses the number of",
        "guesses on its fit runs tests all coins and needs half of the trials of unit record.)",
        f"{'estimator':<16}{'unit':<8}{'trials':>12}{'runs':>12}{'expected':>10}{'ceiling':>9}{'time':>10}  assumption",
    ]
    for option in result.options:
        trials = f"{option.num_trials:,}" if option.reachable else "no number"
        runs = "?" if option.num_runs is None else f"{option.num_runs:,}"
        time = "unknown" if option.seconds is None else duration(option.seconds)
        lines.append(
            f"{option.estimator:<16}{option.unit:<8}{trials:>12}{runs if option.reachable else '-':>12}"
            f"{down(option.expected_lower, 3):>10}{down(option.ceiling, 2):>9}"
            f"{time if option.reachable else '-':>10}  {option.assumption}"
        )
    for option in result.options:
        if not option.reachable:
            lines.append(
                f"{option.estimator}: {percent(result.tightness)} is out of reach; its best is "
                f"{down(100 * option.expected_tightness, 0)}% of ε, at {option.num_trials:,} trials"
            )
    if any(option.unit == "record" and option.num_runs is None for option in result.options):
        lines.append("A trial of unit record is one membership coin: give --records to convert coins into runs.")
    lines.append(f"time: {result.time_source}")
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """In the largest unit of which there is one."""
    for size, name in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.1f} s"
