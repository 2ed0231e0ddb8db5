"""How many right guesses a trade-off function f allows: the recursion of Mahloujifar, Melis, Chaudhuri, "Auditing
f-Differential Privacy in One Run", 2024, arXiv:2410.22235. The argument is written out here, for any f.

Setting: m fair independent coins; r of them are guessed by any function of the output, r fixed beforehand; C guesses
are right, p_c = P[C = c]. f is symmetric and convex, and bounds every test of "coin j is 1" against "coin j is 0",
whatever the other coins are. F = 1 - f, which is concave and increasing.

1. Let S be a set of counts and C_j the number of right guesses about coins other than j. Write a for the probability
   of "j is guessed 1 and C_j in S" given that coin j is 0, and b for that of "j is guessed 0 and C_j in S" given that
   it is 1. Given the other value, the same events have probability at most F(a) and F(b). As the coin is fair and F is
   concave, P[j is guessed right, C_j in S] <= (F(a) + F(b)) / 2 <= F((a + b) / 2) = F(P[j is guessed wrong, C_j in S]).
2. The mean over the m coins, F being concave: sum over c in S of (c + 1) p_{c+1} / m <= F(sum over c in S of
   (r - c) p_c / m). With S = {c >= i}: R_{i+1} <= F(H_i), where R_i = sum over c >= i of c p_c / m and H_i = sum over
   c >= i of (r - c) p_c / m. Equivalently H_i >= g(R_{i+1}) with g(R) = f(1 - R), as f is its own inverse.
3. Let P[C >= v] >= s. The recursion starts from R = s v / m and H = s (r - v) / m and takes, for i = v - 1, ..., 0,
   H' = max(H, g(R)) and R' = R + i / (r - i) (H' - H), as p_i enters both sums. It yields the least R_0 + H_0: with
   T = R + H, and a star for the recursion, T_i >= T*_i and R_i - R*_i >= (i / r) (T_i - T*_i) hold for i = v, and if
   they hold for i + 1 they hold for i. (The second: the step adds (i / r) (T_i - T_{i+1}) to R, and
   T_{i+1} >= T*_{i+1}. The first: nothing to show where H* stays; else H_i >= g(R_{i+1}) >= g(R*_{i+1}) = H*_i, and
   T_i = r / (r - i) (H_i + R_{i+1}) - i / (r - i) T_{i+1}, so T_i - T*_i >= (T_{i+1} - T*_{i+1}) / (r - i) >= 0.)
4. Probabilities sum to 1: R_0 + H_0 = r / m. Where the recursion passes r / m, P[C >= v] >= s is impossible, so
   P[C >= v] < s for every mechanism with trade-off function f.

What follows. *Test:* reject f at significance s when so many guesses are right that step 4 applies. *p-value:* any s at
which step 4 applies, found by whatever search, is above P[C >= v]. Let p(v) be that s. The counts with p(v) <= t
lie at or above the smallest such count v', so P[p(C) <= t] <= P[C >= v'] <= p(v') <= t. *Bound:* let e(v) be an epsilon
that is rejected; the counts with e(v) above the true epsilon lie at or above the smallest such count, which the
mechanism reaches with probability below s, as it satisfies every larger epsilon too. No monotonicity is needed for
validity. (It holds, by the comparison in step 3, and makes bisection find the best value.)
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audit.accounting.curve import TradeoffCurve

_SMALLEST_P_VALUE = 1e-30

# R -> f(1 - R): the least wrong guesses that a share R of right ones brings with it
LeastWrong = Callable[[float], float]


def too_many_right(
    least_wrong: LeastWrong, *, num_coins: int, num_guesses: int, num_correct: int, significance: float
) -> bool:
    """Whether at least so many right guesses have a probability below `significance` under the trade-off function.

    The loop ends as soon as nothing can change: a step that adds nothing is followed by none that does.
    """
    right = significance * num_correct / num_coins
    wrong = significance * (num_guesses - num_correct) / num_coins
    limit = num_guesses / num_coins
    for index in range(num_correct - 1, -1, -1):
        if right + wrong > limit:
            return True
        grown = least_wrong(right)
        if grown <= wrong:
            return False
        right += index / (num_guesses - index) * (grown - wrong)
        wrong = grown
    return right + wrong > limit


def p_value(
    least_wrong: LeastWrong, *, num_coins: int, num_guesses: int, num_correct: int, num_steps: int = 40
) -> float:
    """The smallest significance found at which so many right guesses are too many; 1 where there is none."""

    def rejected(logarithm: float) -> bool:
        return too_many_right(
            least_wrong,
            num_coins=num_coins,
            num_guesses=num_guesses,
            num_correct=num_correct,
            significance=math.exp(logarithm),
        )

    if 2 * num_correct <= num_guesses:
        return 1.0
    low, high = math.log(_SMALLEST_P_VALUE), 0.0
    if rejected(low):
        return _SMALLEST_P_VALUE
    for _ in range(num_steps):
        middle = (low + high) / 2.0
        low, high = (low, middle) if rejected(middle) else (middle, high)
    return math.exp(high)


def least_wrong_of_point(epsilon: float, delta: float) -> LeastWrong:
    """For f(x) = max(0, 1 - delta - e^epsilon x, e^-epsilon (1 - delta - x)), which is all that such a claim says."""
    growth = math.exp(epsilon)
    return lambda right: max(0.0, 1.0 - delta - growth * (1.0 - right), (right - delta) / growth)


def least_wrong_of_curve(curve: "TradeoffCurve") -> LeastWrong:
    """For a curve kept as lines, the same for either direction. A directed curve is not its own inverse: refused."""
    if curve.source.endswith("directed"):
        raise ValueError("the recursion over coins needs a curve that holds in both directions")
    slopes, intercepts = curve.slopes.tolist(), curve.intercepts.tolist()
    # What a line says at a rate of 1, below 0 or 0: added up so that a small R is not lost in 1 - R.
    ends = [min(intercept - slope, 0.0) for intercept, slope in zip(intercepts, slopes, strict=True)]
    # Neighbouring lines cross at falling false-positive rates; in terms of R = 1 - rate they rise.
    crossings = [
        1.0 - (intercepts[i + 1] - intercepts[i]) / (slopes[i + 1] - slopes[i]) for i in range(len(slopes) - 1)
    ]

    def least_wrong(right: float) -> float:
        line = bisect_left(crossings, right)
        return max(0.0, ends[line] + slopes[line] * right)

    return least_wrong
