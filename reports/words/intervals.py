"""How to say, beside intervals, what they were taken over."""

from reports.records.intervals import GIVEN_PUBLIC_DRAW, PUBLIC_DRAWS, RECORDS


def remark(unit: str) -> str:
    """What to write behind an interval; empty where runs are independent, which is what a reader expects."""
    words = {
        PUBLIC_DRAWS: "over public draws",
        GIVEN_PUBLIC_DRAW: "given this public randomness",
        RECORDS: "over the records of one set, as if these were independent",
    }
    return words.get(unit, "")


def bracketed(unit: str) -> str:
    """The remark behind an interval in a line of text."""
    return f" ({remark(unit)})" if remark(unit) else ""


def noted(unit: str) -> str:
    """A sentence for the note under a table."""
    return f"Intervals are {_over(unit)}."


def say_band(share: str, unit: str) -> str:
    """A sentence for the note under a curve with a band."""
    return f"The band is the {share} interval at each FPR, {_over(unit)}."


def _over(unit: str) -> str:
    return f"over runs, {remark(unit)}" if unit == GIVEN_PUBLIC_DRAW else remark(unit) or "over runs"


def explain_intervals(share: str, unit: str, num_draws: int, num_test_runs: str) -> str:
    """A paragraph under figures with brackets."""
    if unit == RECORDS:
        return (
            f"Brackets: {share} intervals by bootstrap over the records of the only test run, as if their scores were "
            "independent. They do not say what another run would show."
        )
    if unit == PUBLIC_DRAWS:
        return (
            f"Brackets: {share} intervals over the {num_draws} draws of the public randomness (networks, "
            "augmentations, starting noise), each with its own runs."
        )
    if unit == GIVEN_PUBLIC_DRAW:
        return (
            f"Brackets: {share} intervals by bootstrap over the {num_test_runs} test runs, given this public "
            "randomness: other networks and other starting noise may give figures outside of them."
        )
    return f"Brackets: {share} intervals by bootstrap over the {num_test_runs} test runs."
