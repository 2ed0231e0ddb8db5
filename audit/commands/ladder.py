"""`audit ladder`: model, set and transcript in one table and one figure."""

import sys
from typing import Any

import click

from audit.commands.attack import check_limits, with_options


@click.command()
@click.option("--shadows", type=int, default=256, show_default=True, help="Condensations of random halves.")
@click.option("--trials", type=int, help="Runs at the transcript; default: what `audit worst-case` takes.")
@with_options
def ladder(trials: int | None, **flags: Any) -> int:
    """One method against ever stronger adversaries: what each certifies, against the analytic ε.

    At the transcript the method runs in the small configuration of `audit worst-case`, its noise calibrated to the
    same ε. Exit 4 if any level refutes the claim, or certifies more than --fail-above.
    """
    import pandas as pd

    from audit.gate.file import flags_of
    from audit.ladder import keep_ladder, run_ladder
    from audit.pipeline import draw
    from audit.store import explain_failure
    from reports.records import schema
    from reports.words.rounding import down, percent, up

    limits = check_limits(flags)
    arguments = ["--method", flags["method"], "--delta", repr(flags["delta"]), "--seed", str(flags["seed"])]
    arguments += [] if flags["epsilon"] is None else ["--epsilon", repr(flags["epsilon"])]
    arguments += [] if trials is None else ["--trials", str(trials)]
    report, rungs = run_ladder(
        flags,
        {**flags_of("worst-case", tuple(arguments)), "out": flags["out"]},
        lambda line: print(f"audit: {line}", file=sys.stderr, flush=True),
    )
    record, directory = keep_ladder(report, rungs, confidence=flags["confidence"], trials=trials)
    with explain_failure(directory.pdf), directory.held():
        draw(directory, record, pd.read_parquet(directory.scores), None)
    if flags["as_json"]:
        click.echo(schema.dump(rungs), nl=False)
    else:
        for row in rungs.rows:
            claim = "nothing proved" if row.analytic_epsilon is None else f"analytic ε {up(row.analytic_epsilon, 3)}"
            click.echo(
                f"{row.level:<11} {row.verdict:<12} ε ≥ {down(row.lower):<6} ({percent(row.confidence)} confidence, "
                f"δ = {row.delta:g}, ceiling {down(row.ceiling)}); {claim}"
            )
        click.echo(f"\n{directory.pdf}")
    above = any(row.lower > limit for row in rungs.rows for limit in limits)
    return 4 if above or any(row.verdict == "REFUTED" for row in rungs.rows) else 0
