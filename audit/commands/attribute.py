"""`audit attribute`: masked parts of records, guessed with the released set and without it."""

from typing import Any

import click

from audit.commands.attack import check_limits, say, where_of, with_options
from audit.specs.attribute import Attribute
from audit.specs.options import build, with_fields
from condensers.errors import BadConfig


@click.command()
@with_fields(Attribute)
@with_options
def attribute(**flags: Any) -> int:
    """Attribute inference and reconstruction: guess a masked part of each record from the released set.

    The guess with the set is compared with a guess without it, which measures what the set reveals about the
    population, and members are compared with non-members, which measures privacy. The last line printed is the path of
    a PDF. To resume after an interruption, run the same command again. Condensations are shared with `audit lira` in
    the same --out folder.
    """
    spec, limits = build(Attribute, flags), check_limits(flags)
    if flags["show_records"]:
        raise BadConfig("--show-records: this report shows no images; leave it out")
    from audit.games.run import run
    from reports.records import schema

    report = run(spec, where_of(flags), say)
    click.echo(schema.dump(report) if flags["as_json"] else _for_people(report), nl=not flags["as_json"])
    return 4 if report.verdict == "REFUTED" or any(report.epsilon.lower > limit for limit in limits) else 0


def _for_people(report: Any) -> str:
    from reports.words.attribute import lines_for_people
    from reports.words.intervals import bracketed
    from reports.words.rounding import down, percent, say_delta

    bound, roc = report.epsilon, report.roc
    return "\n".join(
        [
            f"{report.verdict}  {report.verdict_reason}",
            "",
            *lines_for_people(report),
            f"as a score of membership: AUC {roc.auc:.4f} [{roc.auc_interval[0]:.4f}, {roc.auc_interval[1]:.4f}]"
            f"{bracketed(roc.interval_unit)}, ε ≥ {down(bound.lower)} ({percent(bound.confidence)} confidence, "
            f"{say_delta(bound.delta)}, {bound.num_trials} coins; a perfect attack would have certified "
            f"{down(bound.ceiling)})",
            "",
            report.pdf,
        ]
    )
