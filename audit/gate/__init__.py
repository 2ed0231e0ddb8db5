"""The CI gate: a file of guarantees and recorded values, tested under one family-wise error rate."""
