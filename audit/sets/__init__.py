"""Synthetic sets in files."""
