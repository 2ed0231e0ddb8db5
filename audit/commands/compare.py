"""`audit compare`: attacks and levels on the same condensations, on one figure."""

from typing import Any

import click

from audit.commands.attack import check_limits, say, where_of, with_options
from audit.specs.membership import Compare
from audit.specs.options import build, with_fields


@click.command()
@with_fields(Compare)
@with_options
def compare(**flags: Any) -> int:
    """Compare attacks and levels on the same condensations, on one log-log ROC.

    Bounds are corrected for the number of attacks compared; exit 4 if one of them exceeds --claim, --fail-above or, for
    a private method without --claim, the ε that its ledger proves.
    """
    spec, limits = build(Compare, flags), check_limits(flags)
    from audit.games.compare import run_comparison
    from reports.records import schema
    from reports.words.intervals import bracketed
    from reports.words.rounding import down, up

    record = run_comparison(spec, where_of(flags), say)
    proved = record.proved.epsilon_pld if record.proved is not None and spec.claim is None else None
    refuted = [entry.label for entry in record.entries if proved is not None and entry.epsilon.lower > proved]
    above = refuted or any(entry.epsilon.lower > limit for entry in record.entries for limit in limits)
    if flags["as_json"]:
        click.echo(schema.dump(record), nl=False)
        return 4 if above else 0
    for entry in record.entries:
        roc, (low, high) = entry.roc, entry.roc.auc_interval
        click.echo(
            f"{entry.label:<26} AUC {roc.auc:.4f} [{low:.4f}, {high:.4f}]{bracketed(roc.interval_unit)}  "
            f"TPR {roc.tpr_at_fpr['0.01']:.2%} at FPR 1%, {roc.tpr_at_fpr['0.001']:.2%} at 0.1%  "
            f"ε ≥ {down(entry.epsilon.lower)}"
        )
    if refuted:
        click.echo(f"\nREFUTED  the ledger proves ε = {up(proved or 0.0)}, which is exceeded by {', '.join(refuted)}")
    click.echo(f"\n{record.pdf}")
    return 4 if above else 0
