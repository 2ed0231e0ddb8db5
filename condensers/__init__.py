"""How a synthetic set is made: one method per file, plus what methods share."""
