"""What is said of the test of a claim from membership coins."""

from reports.records.coin_test import CoinTest
from reports.words.rounding import count, percent, probability


def describe_coin_test(test: CoinTest) -> str:
    """What was seen, for a sentence."""
    return (
        f"{count(test.counts['correct'])} right of {count(test.counts['guesses'])} guesses about "
        f"{count(test.counts['coins'])} coins (p = {probability(test.p_value)})"
    )


def explain_coin_test(test: CoinTest) -> str:
    """The paragraph below the table of bounds."""
    return (
        f"The claim's whole trade-off curve ({test.curve}) was tested with the same coins: "
        f"{'REFUTED' if test.refuted else 'not refuted'}, {describe_coin_test(test)}. Numbers of guesses: "
        f"{test.threshold_choice}. p is the smallest error probability at which the claim would be refuted. Bound and "
        f"test together refute a true claim in at most {percent(1 - test.confidence)} of such audits."
    )
