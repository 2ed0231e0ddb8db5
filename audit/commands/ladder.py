"""`audit ladder`: model, set and transcript in one table and one figure."""

from typing import Any

import click

from audit.commands.attack import check_limits, say, where_of, with_options
from audit.commands.worst_case import EXIT_CODES
from audit.specs.membership import Ladder
from audit.specs.options import build, with_fields


@click.command()
@with_fields(Ladder)
@with_options
def ladder(**flags: Any) -> int:
    """Audit one method against increasingly strong adversaries and compare each bound with the analytic ε.

    At level transcript the method runs in the small configuration of `audit worst-case`, with its noise calibrated to
    the same ε. Exit 4 if any level refutes the claim, finds a broken contract or noise other than claimed, or
    certifies more than --fail-above; exit 3 if nothing could be tested at one of them.
    """
    spec, limits = build(Ladder, flags), check_limits(flags)
    from audit.games.ladder import audit_ladder
    from reports.records import schema
    from reports.words.rounding import down, percent, say_delta, up

    record = audit_ladder(spec, where_of(flags), say)
    rungs = record.ladder
    assert rungs is not None
    if flags["as_json"]:
        click.echo(schema.dump(rungs), nl=False)
    else:
        for row in rungs.rows:
            claim = "nothing proved" if row.analytic_epsilon is None else f"analytic ε {up(row.analytic_epsilon, 3)}"
            click.echo(
                f"{row.level:<11} {row.verdict:<12} ε ≥ {down(row.lower):<6} ({percent(row.confidence)} confidence, "
                f"{say_delta(row.delta)}, ceiling {down(row.ceiling)}); {claim}"
            )
        click.echo(f"\n{record.pdf}")
    above = any(row.lower > limit for row in rungs.rows for limit in limits)
    return 4 if above else max(EXIT_CODES.get(row.verdict, 0) for row in rungs.rows)
