"""How membership is scored: one attack per file."""
