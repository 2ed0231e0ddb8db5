"""The record of a test of a claim from membership coins, beside the bounds that come from the same coins."""

from dataclasses import dataclass

from reports.rounding import count, percent


@dataclass(frozen=True, kw_only=True)
class CoinTest:
    """Outcome of the test of a claim against its whole trade-off curve, from membership coins.

    `p_value` is the smallest 1 − confidence at which the claim would have been refuted, all corrections included;
    `curve` says which curve was tested, `counts` how many coins were guessed and how many guesses were right.
    """

    refuted: bool
    p_value: float
    confidence: float
    curve: str
    counts: dict[str, int]
    threshold_choice: str
    correction: str
    num_tries: int
    assumptions: tuple[str, ...]
    estimator: str = "one-run-curve"
    unit: str = "record"


def describe_coin_test(test: CoinTest) -> str:
    """What was seen, for a sentence."""
    return (
        f"{count(test.counts['correct'])} right of {count(test.counts['guesses'])} guesses about "
        f"{count(test.counts['coins'])} coins (p = {test.p_value:.2g})"
    )


def explain_coin_test(test: CoinTest) -> str:
    """The paragraph below the table of bounds."""
    return (
        f"Test of the claim's whole trade-off curve ({test.curve}) from the same coins: "
        f"{'REFUTED' if test.refuted else 'not refuted'}, {describe_coin_test(test)}. Numbers of guesses: "
        f"{test.threshold_choice}. A true claim is refuted in at most {percent(1 - test.confidence)} of such audits, "
        "by the bound or by this test: the two share the error."
    )
