"""Units of work, where their results are kept, and how far they are. Knows nothing of audits."""
