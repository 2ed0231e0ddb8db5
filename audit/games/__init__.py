"""What is played: one room or file for each kind of audit."""
