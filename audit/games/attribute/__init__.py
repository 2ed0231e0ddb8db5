"""Attribute inference: a masked part of a record, guessed with the released set and without it."""
