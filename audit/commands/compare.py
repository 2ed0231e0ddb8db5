"""`audit compare`: attacks and levels on the same condensations, on one figure."""

import json
import sys
from collections.abc import Callable
from typing import Any

import click

from audit.commands.attack import check_limits, with_options


@click.command()
@click.option(
    "--attacks",
    default=None,
    metavar="ATTACK:LEVEL[:FIT_RUNS],…",
    help="What to compare; default: loss, rmia and lira at both levels with few and with all fit runs. "
    "FIT_RUNS are those of each public draw.",
)
@click.option("--shadows", type=int, default=256, show_default=True, help="Condensations of random halves.")
@with_options  # fmt: skip
def compare(attacks: str | None, **flags: Any) -> int:
    """Draw all attacks and levels on one log-log ROC, with the number of shadows that each was given.

    Bounds are corrected for the number of attacks compared; exit 4 if one of them exceeds --claim or --fail-above.
    """
    from audit.compare import DEFAULT_ENTRIES, parse_entries, run_comparison
    from reports.words.intervals import bracketed
    from reports.words.rounding import down

    limits = check_limits(flags)
    say: Callable[[str], None] = lambda line: print(f"audit: {line}", file=sys.stderr, flush=True)  # noqa: E731
    folder = run_comparison(parse_entries(attacks or DEFAULT_ENTRIES), flags, say)
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
