"""Published claims as executable records: who said what, under which threat model, and what a test of it found."""
