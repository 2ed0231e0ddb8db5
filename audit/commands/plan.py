"""`audit plan`: how many trials, which estimator, which ceiling, how long."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from audit.statistics.plan import Plan, make_plan, measured_seconds
from condensers.errors import BadConfig
from condensers.plugins import directory_part
from reports.words.rounding import down


@click.command(short_help="How many runs a bound needs, before the compute is spent.")
@click.option("--epsilon", type=float, required=True, help="The epsilon that the mechanism may really have.")
@click.option("--delta", type=float, default=1e-5, show_default=True)
@click.option("--tightness", type=float, default=0.8, show_default=True, help="Share of epsilon to certify.")
@click.option("--confidence", type=float, default=0.95, show_default=True)
@click.option("--unit", type=click.Choice(["run", "record", "both"]), default="both", show_default=True)
@click.option("--records", type=int, help="Records in the pool: turns membership coins into runs.")
@click.option("--method", help="Expected time, from finished runs of this method under --out.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def plan(
    epsilon: float,
    delta: float,
    tightness: float,
    confidence: float,
    unit: str,
    records: int | None,
    method: str | None,
    out: Path,
    as_json: bool,
) -> None:
    """Trials needed to certify a share of epsilon, estimator by estimator.

    \b
    audit plan --epsilon 1 --delta 1e-5 --tightness 0.8
    audit plan --epsilon 4 --records 1797 --method dm
    """
    if method is not None and ":" not in method and not method.replace("-", "").replace("_", "").isalnum():
        raise BadConfig(f"--method {method}: a name of letters and digits; audit methods lists them")
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
    click.echo(json.dumps(asdict(result), indent=2, sort_keys=True) if as_json else _describe(result))


def _describe(result: Plan) -> str:
    lines = [
        f"To certify {result.tightness:g} of epsilon {result.epsilon:g} at delta {result.delta:g} with "
        f"{result.confidence:.0%} confidence, on the Gaussian mechanism with that epsilon (mu {result.mu:.3g}),",
        "attacked as well as possible; half of the trials choose the threshold, fit runs come on top. (An audit that",
        "chooses the numbers of guesses on its fit runs tests all coins: half of the trials of unit record do.)",
        f"{'estimator':<16}{'unit':<8}{'trials':>12}{'runs':>12}{'expected':>10}{'ceiling':>9}{'time':>10}  assumption",
    ]
    for option in result.options:
        trials = f"{option.num_trials:,}" if option.reachable else "no number"
        runs = "?" if option.num_runs is None else f"{option.num_runs:,}"
        time = "unknown" if option.seconds is None else _duration(option.seconds)
        lines.append(
            f"{option.estimator:<16}{option.unit:<8}{trials:>12}{runs if option.reachable else '-':>12}"
            f"{down(option.expected_lower, 3):>10}{down(option.ceiling, 2):>9}"
            f"{time if option.reachable else '-':>10}  {option.assumption}"
        )
    for option in result.options:
        if not option.reachable:
            lines.append(
                f"{option.estimator}: {result.tightness:g} is out of reach; its best is "
                f"{down(option.expected_tightness)} of epsilon, at {option.num_trials:,} trials"
            )
    if any(option.unit == "record" and option.num_runs is None for option in result.options):
        lines.append("a trial of unit record is one membership coin: runs = coins / records, give --records")
    lines.append(f"time: {result.time_source}")
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    for size, name in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.1f} s"
