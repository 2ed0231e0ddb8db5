"""From scores to intervals and bounds."""
