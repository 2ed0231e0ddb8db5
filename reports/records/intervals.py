"""What intervals were taken over."""

PUBLIC_DRAWS = "public draws"
GIVEN_PUBLIC_DRAW = "runs, given this public randomness"
RUNS = "runs"
RECORDS = "records"
