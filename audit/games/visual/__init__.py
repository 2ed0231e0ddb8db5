"""Nearest real images."""
