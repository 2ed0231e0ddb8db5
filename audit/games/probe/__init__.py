"""What an audit will cost, from a few seconds of it."""
