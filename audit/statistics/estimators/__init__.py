"""Lower bounds on epsilon from observed attacks: typed evidence, threshold choices, one estimator per file."""
