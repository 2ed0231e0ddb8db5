"""What a set is worth to train on."""
