"""Models that a person trained: no condenser, the same attacks and statistics."""
