"""`audit account`: the analytic ε of a published method, of a mechanism, or of a ledger of events."""

import json
from typing import Any

import click

from audit.specs.account import Account
from audit.specs.options import build, with_fields

WITHOUT_EXPONENT = 1e-4  # the least number that is written without a power of ten


@click.command(short_help="Analytic epsilon of a method or a mechanism (RDP and PLD).")
@with_fields(Account)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def account(as_json: bool, **flags: Any) -> None:
    """Compute the epsilon that a mechanism's proof guarantees at a given delta, by RDP and by PLD.

    \b
    audit account --method ldpdc --dataset mnist
    audit account --gaussian --rate 0.01 --sigma 1.1 --steps 1000
    """
    from audit.accounting.account import account as compute

    result = compute(build(Account, flags))
    click.echo(json.dumps(result, indent=2, ensure_ascii=False) if as_json else _format(result))


def _format(result: dict[str, Any]) -> str:
    from reports.words.rounding import small

    def row(label: str, value: Any) -> str:
        if not isinstance(value, float):
            return f"{label:<20}{value}"
        return f"{label:<20}{small(value, digits=6) if abs(value) < WITHOUT_EXPONENT else f'{value:.6g}'}"

    hidden = {"actual", "cross_checks", "largest_true_positive_rate"}
    hidden |= set() if result.get("auxiliary_epsilon") else {"auxiliary_epsilon"}
    hidden |= {"printed_conversion"} if result.get("printed_epsilon") is None else set()
    hidden |= {"accounted_noise"} if result.get("accounted_noise") == result.get("noise_multiplier") else set()
    shown = [name for name in result if name not in hidden]
    lines = [row(name.replace("_", " "), result[name]) for name in shown if result[name] not in (None, "")]
    if result.get("actual"):
        actual = result["actual"]
        lines.append(row("what the code runs", actual["reason"]))
        lines.append(row("", f"epsilon rdp {actual['epsilon_rdp']:.6g}, epsilon pld {actual['epsilon_pld']:.6g}"))
    for name, value in result.get("cross_checks", {}).items():
        lines.append(row(name.replace("_", " "), value))
    for rate, value in result.get("largest_true_positive_rate", {}).items():
        lines.append(row(f"TPR at FPR {rate}", f"at most {value:.6g}"))
    return "\n".join(lines)
