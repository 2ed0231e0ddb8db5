"""What can be asked for: one frozen, typed, validated specification for each kind of audit."""
