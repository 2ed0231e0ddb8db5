"""Analytic privacy: what ran as dp-accounting events, what it costs as ε (RDP, PLD) and as a trade-off curve."""
