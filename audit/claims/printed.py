"""Judges of printed figures, by arithmetic alone: an ε against the accountants, a row of a table against another.

A printed ε is right if some accountant proves it at the printed settings. It is wrong if no accountant can: the law of
the privacy loss is known exactly for Poisson-subsampled Gaussians, and its ε lies above the printed one. Where neither
is known, or where nothing is printed, it is NOT SHOWN. Where the released code does something else than is accounted,
what it does is held against the printed ε.
"""

from collections.abc import Sequence
from typing import Any

from audit.accounting.class_sizes import CLASS_SIZES
from audit.accounting.epsilon import epsilon_lower
from audit.accounting.published import METHODS, Setting, actual_event, claimed_event
from audit.claims.record import Evidence, Judge, Ruling

ROUNDING = 0.005  # figures are printed to two decimals
ORDER = ("CONTRADICTED", "NOT SHOWN", "CONFIRMED")


def printed_epsilon_is_right(evidence: Sequence[Evidence], significance: float) -> Ruling:  # noqa: ARG001
    """Claim: the printed ε, against what the accountants prove and against what no accountant can prove."""
    verdicts, lines = [], []
    for one in evidence:
        verdict, line = judge_printed(one.record)
        verdicts.append(verdict)
        lines.append(line)
    return Ruling(verdict=min(verdicts, key=ORDER.index), figures="; ".join(lines), is_arithmetic=True)


def judge_printed(result: dict[str, Any]) -> tuple[str, str]:
    """The verdict on one result of `audit account`, and its figures."""
    printed = result["printed_epsilon"]
    bounds = {"RDP": result["epsilon_rdp"], "PLD": result["epsilon_pld"]}
    shown = ", ".join(f"{name} proves {value:.4g}" for name, value in bounds.items())
    line = f"{result['dataset']}: printed {'nothing' if printed is None else f'{printed:g}'}; {shown}"
    as_printed, as_run = lower_ends(result)
    if as_run is not None:
        line += f"; what the code does costs at least {as_run:.4g}"
    if printed is None:
        return "NOT SHOWN", line
    if as_run is not None and as_run > printed + ROUNDING:
        return "CONTRADICTED", line
    if min(bounds.values()) <= printed + ROUNDING:
        return "CONFIRMED", line
    if as_printed is not None and as_printed > printed + ROUNDING:
        return "CONTRADICTED", f"{line}; no accountant can prove less than {as_printed:.4g}"
    return "NOT SHOWN", line


def lower_ends(result: dict[str, Any]) -> tuple[float | None, float | None]:
    """Below which ε no accountant can come: for the settings as accounted, and for what the code does."""
    method = METHODS[result["method"]]
    share = method.private_share.get(result["dataset"], 1.0)
    setting = Setting(
        class_sizes=CLASS_SIZES[result["dataset"]],
        batch=result["batch"],
        noise_multiplier=result["noise_multiplier"],
        steps=result["steps"],
    )
    run = actual_event(method, setting, result["images_per_class"])
    delta = result["delta"] * share
    return (
        epsilon_lower(claimed_event(method, setting), delta),
        None if run is None else epsilon_lower(run, delta),
    )


def noise_gives(printed_epsilon: float) -> Judge:
    """Claim: the printed noise gives the printed ε (`audit account --gaussian`)."""

    def judge(evidence: Sequence[Evidence], significance: float) -> Ruling:  # noqa: ARG001
        from audit.accounting.events import subsampled_gaussian

        result = evidence[0].record
        event = subsampled_gaussian(
            sampling_rate=result["sampling_rate"], noise_multiplier=result["noise_multiplier"], steps=result["steps"]
        )
        proved, least = min(result["epsilon_rdp"], result["epsilon_pld"]), epsilon_lower(event, result["delta"])
        wrong = least is not None and least > printed_epsilon + ROUNDING
        verdict = "CONFIRMED" if proved <= printed_epsilon + ROUNDING else "CONTRADICTED" if wrong else "NOT SHOWN"
        return Ruling(
            verdict=verdict,
            figures=f"printed {printed_epsilon:g}; RDP proves {result['epsilon_rdp']:.4g}, PLD "
            f"{result['epsilon_pld']:.4g}, and no accountant can prove less than {least:.4g}",
            is_arithmetic=True,
        )

    return judge


def row_is_that_of(row: dict[str, float], others: dict[str, dict[str, float]]) -> Judge:
    """Claim: a row of a table is what it is called. The first of `others` is that method, then come candidates."""

    def judge(evidence: Sequence[Evidence], significance: float) -> Ruling:  # noqa: ARG001
        agree = {
            name: sum(abs(row[key] - other[key]) < ROUNDING for key in row if key in other)
            for name, other in others.items()
        }
        shared = {name: len(row.keys() & other.keys()) for name, other in others.items()}
        named, *candidates = others
        impostor = any(agree[name] == len(row) for name in candidates)
        as_named = agree[named] == len(row)
        verdict = "CONFIRMED" if as_named else "CONTRADICTED" if impostor and not agree[named] else "NOT SHOWN"
        counts = "; ".join(f"{agree[name]} of {shared[name]} figures equal those of {name}" for name in others)
        return Ruling(verdict=verdict, figures=counts, is_arithmetic=True)

    return judge
