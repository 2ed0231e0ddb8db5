"""Generates pages of the documentation site from the code, and checks the built site. Used by `make docs`."""
