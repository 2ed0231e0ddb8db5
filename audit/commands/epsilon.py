"""`audit epsilon`: the estimators for anyone's table of scores."""

from pathlib import Path
from typing import Any

import click

ESTIMATORS = (
    "clopper-pearson", "gaussian", "bayesian", "paper-style", "family", "one-run", "one-run-dp", "one-run-fdp",
)  # fmt: skip
REFUTED = 4


@click.command(short_help="Lower bounds on epsilon from the scores of any attack.")
@click.argument("scores", type=click.Path(path_type=Path))
@click.option("--score-column", default="score", show_default=True, help="Column of scores; higher means member.")
@click.option("--member-column", default="member", show_default=True, help="Column of membership: true, false, 1 or 0.")
@click.option(
    "--run-column",
    default="run",
    show_default=True,
    help="Column that says which condensation a row was scored against.",
)
@click.option("--record-column", default="record", show_default=True, help="Column that says which record was scored.")
@click.option(
    "--unit",
    type=click.Choice(["run", "record"]),
    help="What one trial is: a run with one canary, or a membership coin. [default: run if every run has one row]",
)
@click.option("--delta", type=float, default=1e-5, show_default=True, help="δ of the bounds.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Confidence of the bounds.")
@click.option(
    "--estimator",
    type=click.Choice(["all", *ESTIMATORS]),
    default="all",
    show_default=True,
    help="Estimator of ε. all: every estimator that is valid for the unit.",
)
@click.option(
    "--threshold",
    default="split",
    show_default=True,
    help="How the threshold is chosen: split, median, grid, or fixed:X.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the split.")
@click.option(
    "--tries",
    type=int,
    default=1,
    show_default=True,
    help="Number of attacks, levels and records tried in total; bounds are corrected for multiple testing.",
)
@click.option("--rate", type=float, help="Claimed sampling rate, for the family bound.")
@click.option("--steps", type=int, help="Claimed number of steps, for the family bound.")
@click.option("--sigma", type=float, help="Claimed noise multiplier: tests the claim's whole trade-off curve.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def epsilon(
    scores: Path,
    score_column: str,
    member_column: str,
    run_column: str,
    record_column: str,
    unit: str | None,
    threshold: str,
    seed: int,
    as_json: bool,
    **options: Any,
) -> int:
    """Compute lower bounds on epsilon from SCORES, a Parquet or CSV file with one row per scored trial.

    \b
    audit epsilon scores.parquet --unit record
    audit epsilon canaries.csv --unit run --rate 0.01 --steps 1000 --sigma 1.1

    Exit 4 when the claimed curve is refuted.
    """
    from audit.commands.epsilon_table import describe, estimate, parse_choice
    from audit.statistics.estimators.table import Columns, read_evidence
    from reports.records.schema import dump

    choice = parse_choice(threshold, seed)
    names = Columns(score=score_column, member=member_column, run=run_column, record=record_column)
    result = estimate(read_evidence(scores, names, unit=unit), choice, **options)
    click.echo(dump(result) if as_json else describe(result), nl=not as_json)
    return REFUTED if result.curve_test is not None and result.curve_test.refuted else 0
