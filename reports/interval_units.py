"""What intervals were taken over, and how to say so beside them."""

PUBLIC_DRAWS = "public draws"
GIVEN_PUBLIC_DRAW = "runs, given this public randomness"
RUNS = "runs"
RECORDS = "records"
UNITS = (PUBLIC_DRAWS, GIVEN_PUBLIC_DRAW, RUNS, RECORDS)


def remark(unit: str) -> str:
    """What to write behind an interval; empty where it means what a reader expects, another audit with other runs."""
    if unit == GIVEN_PUBLIC_DRAW:
        return "given this public randomness"
    if unit == PUBLIC_DRAWS:
        return "over public draws"
    return "over the records of one set, as if independent: no more" if unit == RECORDS else ""
