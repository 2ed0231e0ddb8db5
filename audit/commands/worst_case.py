"""`audit worst-case`: does a private method keep what its ledger claims, where the adversary chooses the records?"""

import sys
from pathlib import Path
from typing import Any

import click

from audit.specs.options import build, with_fields
from audit.specs.worst_case import WorstCase


@click.command("worst-case")
@with_fields(WorstCase)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Folder that holds run directories; the record is kept in worst-case-METHOD-DIGEST/report.json.",
)
@click.option("--jobs", type=int, help="Worker processes; default: one per core.")
@click.option("--json", "as_json", is_flag=True, help="Print the record of the audit as JSON.")
def worst_case(out: Path, jobs: int | None, as_json: bool, **flags: Any) -> int:
    """The transcript level: the adversary chooses neighbouring pools and sees every noisy sum.

    Runs of the real code, with and without one record, are told apart by their likelihood ratio. Headline: the
    verdict against the whole trade-off curve of the ledger (exit 4 if refuted), and the tightness, which is the ε that
    was certified over the ε that PLD proves. Ends with the path of a PDF; an HTML page stands beside it.
    """
    spec = build(WorstCase, flags)
    from audit.engine.executor import Local
    from audit.engine.where import Where
    from audit.games.run import run
    from reports.records import schema

    report = run(
        spec, Where(out=out, executor=Local(jobs)), lambda line: print(f"audit: {line}", file=sys.stderr, flush=True)
    )
    click.echo(schema.dump(report) if as_json else _for_people(report), nl=not as_json)
    return 4 if report.verdict == "REFUTED" else 0


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
