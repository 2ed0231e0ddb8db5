"""One file per command; imported only when the command is run, so that `audit --help` stays light."""
