"""What is said of a ladder: one method against adversaries who see more and more."""

from reports.records.schema import Ladder, LadderRow
from reports.words.rounding import decimals_apart, down, percent, say_delta

_TRANSCRIPT_NOTE = (
    " At level transcript the method ran in the small configuration of audit worst-case, with its noise calibrated to "
    "the same ε."
)


def seen_by_levels(ladder: Ladder, attack: str, level: str) -> str:
    """Who attacks, and which level the rest of the page is about."""
    *others, last = [row.level for row in ladder.rows]
    levels = f"levels {', '.join(others)} and {last}" if others else f"level {last}"
    return (
        f"The same method at {levels}. The headline and the table below it compare them; all other figures are of the "
        f"attack {attack} at level “{level}”."
    )


def ladder_headline(ladder: Ladder) -> str:
    """The largest ε that was certified."""
    best = _best(ladder)
    lower = "0" if best.lower <= 0 else down(best.lower, decimals_apart(best.lower, best.analytic_epsilon))
    return f"ε ≥ {lower}"


def explain_ladder(ladder: Ladder) -> str:
    """The sentences beside it."""
    best = _best(ladder)
    together = f"The bounds of all levels hold together with {percent(joint_confidence(ladder))} confidence."
    if best.lower <= 0:
        return (
            f"No positive ε could be certified at any level at {say_delta(best.delta)}. This is no evidence of a leak, "
            f"and no evidence of privacy either. {together}"
        )
    return (
        f"The largest ε of all levels, certified at level {best.level} with {percent(best.confidence)} confidence at "
        f"{say_delta(best.delta)}. {together}"
    )


def transcript_note(ladder: Ladder) -> str:
    """Where the levels do not run the same configuration; empty where they do."""
    return _TRANSCRIPT_NOTE if any(row.level == "transcript" for row in ladder.rows) else ""


def joint_confidence(ladder: Ladder) -> float:
    """By the union bound."""
    return 1 - sum(1 - row.confidence for row in ladder.rows)


def _best(ladder: Ladder) -> LadderRow:
    return max(ladder.rows, key=lambda row: (row.measured, row.lower))
