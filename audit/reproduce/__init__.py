"""Tables and figures of papers, run again: published value, ours with its interval, and whether they agree."""
