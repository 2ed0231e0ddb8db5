"""What a person runs: commands, the game, the run directory, statistics of epsilon, accounting."""

__version__ = "0.1.0"
