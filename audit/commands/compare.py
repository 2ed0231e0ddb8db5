"""`audit compare`: attacks and levels on the same condensations, on one figure."""

import json
from typing import Any

import click

from audit.commands.attack import check_limits, say, where_of, with_options
from audit.specs.membership import Compare
from audit.specs.options import build, with_fields


@click.command()
@with_fields(Compare)
@with_options
def compare(**flags: Any) -> int:
    """Draw all attacks and levels on one log-log ROC, with the number of shadows that each was given.

    Bounds are corrected for the number of attacks compared; exit 4 if one of them exceeds --claim or --fail-above.
    """
    spec, limits = build(Compare, flags), check_limits(flags)
    from audit.games.compare import run_comparison
    from reports.words.intervals import bracketed
    from reports.words.rounding import down

    folder = run_comparison(spec, where_of(flags), say)
    text = (folder / "report.json").read_text(encoding="utf-8")
    entries = json.loads(text)["entries"]
    code = 4 if any(entry["epsilon"]["lower"] > limit for entry in entries for limit in limits) else 0
    if flags["as_json"]:
        click.echo(text, nl=False)
        return code
    for entry in entries:
        roc, bound = entry["roc"], entry["epsilon"]
        low, high = roc["auc_interval"]
        at = roc["tpr_at_fpr"]
        click.echo(
            f"{entry['label']:<26} AUC {roc['auc']:.4f} [{low:.4f}, {high:.4f}]{bracketed(roc['interval_unit'])}  "
            f"TPR {at['0.01']:.2%} at FPR 1%, {at['0.001']:.2%} at 0.1%  ε ≥ {down(bound['lower'])}"
        )
    click.echo(f"\n{folder / 'roc.png'}")
    return code
