"""What is said of the test of a claim from membership coins."""

from reports.records.coin_test import CoinTest
from reports.words.rounding import count, percent


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
