"""Ways of choosing the threshold, as values, and what each costs.

Choosing on the data that are then tested breaks every bound (docs/estimators.md measures by how much). Each choice
here is valid, for whatever attack:

- `Fixed`: known before the data were seen. Costs nothing.
- `Split`: chosen on one part, tested on the other, which is independent of the choice. Costs trials.
- `MedianOfSplits`: J splits, each tested at significance * k / J, and the k-th largest of the J bounds is reported,
  k = (J + 1) // 2. If each bound exceeds the truth with probability at most s, the expected number that do is at most
  J * s, so by Markov's inequality at least k do with probability at most J * s / k, however dependent the splits are.
  (The same argument for p-values: Rueger 1978; Meinshausen, Meier, Buehlmann 2009, arXiv:0811.2177.)
- `FromOtherRuns`: numbers of guesses chosen on runs that are not tested (fit runs, scored by attacks that were not
  fitted on them), so that all tested coins are tested. Costs nothing.
- `Grid`: every rule of a grid declared beforehand, each at significance / (number of rules); the largest bound is
  reported (Bonferroni: the case k = 1 of the line above).

A rule is chosen for a bound at SELECTION_SIGNIFICANCE, whatever the confidence asked for and however many tries share
the error. The rule is then the same for every confidence, and a bound falls as the confidence rises.
"""

import math
from dataclasses import dataclass

from condensers.errors import BadConfig

# Declared before any score is seen. A fraction is the share of the one class that may fall on the wrong side.
SPLIT_FRACTIONS = (
    *(0.0, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4),
    *(0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07),
    *(0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6),
)
GRID_FRACTIONS = (0.0, 0.01, 0.05, 0.2)
SELECTION_SIGNIFICANCE = 0.05


def _check_split(fraction: float) -> None:
    if not 0.0 < fraction < 1.0:
        raise BadConfig(f"split fraction is {fraction}; it must lie strictly between 0 and 1, for example 0.5")


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """A score at or above `threshold` is called a member. The threshold was known before the scores."""

    threshold: float

    def __post_init__(self) -> None:
        if math.isnan(self.threshold):
            raise BadConfig("fixed threshold is NaN; it must be a number on the scale of the scores")


@dataclass(frozen=True, kw_only=True)
class Split:
    """Chosen on `fraction` of the trials, tested on the rest.

    The parts are drawn by `seed`; None takes them in order of arrival, where several runs are there to be ordered.
    """

    fraction: float = 0.5
    seed: int | None = 0

    def __post_init__(self) -> None:
        _check_split(self.fraction)


@dataclass(frozen=True, kw_only=True)
class MedianOfSplits:
    """The median bound of `num` splits: hardly depends on the seed, costs at most half of the significance."""

    num: int = 7
    fraction: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        _check_split(self.fraction)
        if self.num < 1:
            raise BadConfig(f"number of splits is {self.num}; it must be at least 1")

    @property
    def num_agreeing(self) -> int:
        return (self.num + 1) // 2

    @property
    def splits(self) -> tuple[Split, ...]:
        return tuple(Split(fraction=self.fraction, seed=self.seed + index) for index in range(self.num))


@dataclass(frozen=True, kw_only=True)
class Grid:
    """All trials, a rule for each of `fractions` and for either class, declared before the scores were seen."""

    fractions: tuple[float, ...] = GRID_FRACTIONS

    def __post_init__(self) -> None:
        if not self.fractions or not all(0.0 <= fraction < 1.0 for fraction in self.fractions):
            raise BadConfig(
                f"grid fractions are {', '.join(map(str, self.fractions)) or 'none'}; give at least one, each at "
                "least 0 and below 1"
            )


@dataclass(frozen=True, kw_only=True)
class FromOtherRuns:
    """These fractions of the coins are guessed as members and as non-members; `source` says what they were chosen on,
    which must not be the tested coins."""

    positive_fraction: float
    negative_fraction: float
    source: str

    def __post_init__(self) -> None:
        fractions = (self.positive_fraction, self.negative_fraction)
        if not (min(fractions) >= 0.0 and sum(fractions) <= 1.0):
            raise BadConfig(
                f"fractions of guesses are {', '.join(map(str, fractions))}; they must be at least 0 and sum to at "
                "most 1"
            )


ThresholdChoice = Fixed | Split | MedianOfSplits | FromOtherRuns | Grid
DEFAULT_CHOICE = Split()


def describe_choice(choice: ThresholdChoice) -> str:
    """A few words for reports."""
    match choice:
        case Fixed():
            return f"fixed beforehand at {choice.threshold:g}"
        case Split(seed=None):
            return f"chosen on {100 * choice.fraction:.3g}% of the trials, tested on the rest"
        case Split():
            share = f"{100 * choice.fraction:.3g}%"
            return f"chosen on a random {share} of the trials (seed {choice.seed}), tested on the rest"
        case MedianOfSplits():
            return f"median of {choice.num} splits (each at {choice.num_agreeing}/{choice.num} of the significance)"
        case FromOtherRuns():
            return (
                f"{100 * choice.positive_fraction:.3g}% of the coins guessed as members and "
                f"{100 * choice.negative_fraction:.3g}% as non-members, chosen on {choice.source}"
            )
        case Grid():
            fractions = ", ".join(f"{100 * fraction:g}%" for fraction in choice.fractions)
            return f"grid declared beforehand ({fractions} of either class), Bonferroni"
