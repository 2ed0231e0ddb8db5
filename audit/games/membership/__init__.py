"""Audits by membership coins: lira, rmia, loss, and sets of other makers."""
