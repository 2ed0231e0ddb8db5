"""The record of a test of a claim from membership coins, beside the bounds that come from the same coins."""

from dataclasses import dataclass


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
