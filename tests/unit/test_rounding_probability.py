"""A p-value that underflows is not printed as zero, and none is printed smaller than it is."""

import pytest

from reports.words.rounding import probability


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "< 10⁻³⁰⁰"), (1e-301, "< 10⁻³⁰⁰"), (6.23e-61, "6.3·10⁻⁶¹"), (0.911, "0.92"), (0.05, "0.05"), (1.0, "1")],
)
def test_probability_against_what_a_double_holds(value: float, text: str) -> None:
    assert probability(value) == text
