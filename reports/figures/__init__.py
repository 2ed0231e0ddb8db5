"""One drawing function per figure, for paper, PNG and screen."""
