"""The audit of what a private method draws from the records."""
