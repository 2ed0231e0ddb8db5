"""`audit adversaries` and `audit sweep`: several audits of one method, in one figure and one table."""

from typing import Any

import click

from audit.commands.attack import check_limits, say, where_of, with_options
from audit.specs.grids import Adversaries, Sweep
from audit.specs.options import build, with_fields


@click.command()
@with_fields(Adversaries)
@with_options
def adversaries(**flags: Any) -> int:
    """Run LiRA under a grid of adversaries: randomness known or unknown, records in doubt, level set or model.

    Every cell is an audit with a run directory of its own, shared with other audits in --out. Bounds are corrected for
    the number of cells; exit 4 if one of them exceeds --claim or --fail-above. To resume
    after an interruption, run the same command again.
    """
    spec, limits = build(Adversaries, flags), check_limits(flags)
    from audit.games.adversaries import run_adversaries

    return _tell(run_adversaries(spec, where_of(flags), say), limits, as_json=flags["as_json"])


@click.command()
@with_fields(Sweep)
@with_options
def sweep(**flags: Any) -> int:
    """Run LiRA while one size at a time is varied: pool, records in doubt, steps, images per class or runs.

    Every cell is an audit with a run directory of its own, shared with other audits in --out. Bounds are corrected for
    the number of cells; exit 4 if one of them exceeds --claim or --fail-above. To resume
    after an interruption, run the same command again.
    """
    spec, limits = build(Sweep, flags), check_limits(flags)
    from audit.games.sweep import run_sweep

    return _tell(run_sweep(spec, where_of(flags), say), limits, as_json=flags["as_json"])


def _tell(report: Any, limits: tuple[float, ...], *, as_json: bool) -> int:
    from reports.records import schema
    from reports.words.grid import name_cell
    from reports.words.intervals import bracketed
    from reports.words.rounding import down

    if as_json:
        click.echo(schema.dump(report), nl=False)
    else:
        for cell in report.cells:
            low, high = cell.auc_interval
            click.echo(
                f"{name_cell(cell):<52} {cell.level:<6} ε ≥ {down(cell.epsilon.lower):<5} (ceiling "
                f"{down(cell.epsilon.ceiling)})  AUC {cell.auc:.4f} [{low:.4f}, {high:.4f}]"
                f"{bracketed(cell.interval_unit)}  TPR {cell.tpr_at_fpr['0.001']:.2%} at FPR 0.1%"
            )
        click.echo(f"\n{report.pdf}")
    refuted = any(cell.verdict == "REFUTED" for cell in report.cells)
    return 4 if refuted or any(cell.epsilon.lower > limit for cell in report.cells for limit in limits) else 0
