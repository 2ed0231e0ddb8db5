"""`audit worst-case`: does a method keep what is claimed for it, where the adversary chooses the records?"""

from pathlib import Path
from typing import Any

import click

from audit.commands.attack import say
from audit.commands.workers import executor_of, with_workers
from audit.specs.options import build, with_fields
from audit.specs.worst_case import WorstCase


@click.command("worst-case")
@with_fields(WorstCase)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Folder that holds run directories; the record is kept in worst-case-METHOD-LEVEL-DIGEST/report.json.",
)
@click.option("--data-root", type=click.Path(path_type=Path), help="Folder that holds data sets.")
@with_workers
@click.option("--json", "as_json", is_flag=True, help="Print the record of the audit as JSON.")
def worst_case(out: Path, data_root: Path | None, as_json: bool, **flags: Any) -> int:
    """Audit a method on neighbouring pools that the adversary chooses.

    The method runs many times, with and without one record. The adversary distinguishes the two cases by the likelihood
    ratio of every noisy sum (level transcript) and by learned scores of what is released. For a private method, its
    contracts are checked (exit 4 if one is broken) and its noise is tested. The result is compared with the whole
    trade-off curve of the ledger or of --claim (exit 4 if refuted, 3 if nothing could be tested). The last line printed
    is the path of a PDF; an HTML page is written beside it.
    """
    spec = build(WorstCase, flags)
    from audit.engine.where import Where
    from audit.games.run import run
    from reports.records import schema

    report = run(spec, Where(out=out, executor=executor_of(flags), data_root=data_root), say)
    click.echo(schema.dump(report) if as_json else _for_people(report), nl=not as_json)
    return EXIT_CODES.get(report.verdict, 0)


EXIT_CODES = {"REFUTED": 4, "CONTRACT BROKEN": 4, "NOISE NOT AS CLAIMED": 4, "NOTHING TESTED": 3}
SHOWN = 8  # learned scores, those with the smallest p


def _for_people(report: Any) -> str:
    from reports.words.rounding import down, percent, probability, say_delta, up

    claimed, lines = report.claimed, [f"{report.verdict}  {report.verdict_reason}", ""]
    if claimed is not None:
        rdp = "" if claimed.epsilon_rdp is None else f", {up(claimed.epsilon_rdp, 3)} (RDP)"
        lines.append(
            f"claimed        ε ≤ {up(claimed.epsilon_pld, 3)} (PLD){rdp} at {say_delta(claimed.delta)}, "
            f"from the {claimed.source}"
        )
    if report.epsilon.num_trials:
        tightness = (
            f"none: {report.tightness_reason}"
            if report.tightness is None
            else f"{down(report.tightness, 3)}  (ε of the family bound divided by the ε that PLD proves)"
        )
        lines.append(f"tightness      {tightness}")
    if report.ledger:
        lines.append(
            f"canary         uses {report.canary_typical_length:.1%} of the clipping norm, at least "
            f"{down(100 * report.canary_length, 1)}% in every release"
        )
    lines += [
        f"contract       {check.name}: {({True: 'held', False: 'NOT HELD', None: 'not checked'})[check.held]}"
        for check in report.contracts
    ]
    if report.noise is not None:
        lines.append(f"noise          p = {probability(report.noise.p_value)} ({report.noise.worst})")
    lines += [
        f"{bound.estimator:<17}ε ≥ {down(bound.lower, 3)}  ({percent(bound.confidence)} confidence, "
        f"{bound.num_trials} tested runs, ceiling {down(bound.ceiling)})"
        for bound in report.bounds
        if bound.num_trials
    ]
    declared = [attempt for attempt in report.attempts if not attempt.score.endswith(")")]
    learned = [attempt for attempt in report.attempts if attempt.score.endswith(")")]
    smallest = declared + sorted(learned, key=lambda attempt: attempt.test.p_value)[:SHOWN]
    lines += [
        f"{attempt.score + ', canary ' + attempt.design:<50} p = {probability(attempt.test.p_value)}"
        for attempt in smallest
    ]
    if len(learned) > SHOWN:
        lines.append(f"{len(learned) - SHOWN} other learned scores, with p at least as large")
    gap = [""] if lines[-1] else []
    return "\n".join([*lines, *gap, report.epsilon.assumptions[-1], report.pdf])
