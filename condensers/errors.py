"""The one tree of exceptions; the command line turns each into one line and an exit code.

AuditError
├── BadInput        exit 2: the person can mend it; nothing was written
│   ├── BadData     a data set, a score table or a file of weights is not what it should be
│   └── BadConfig   a flag or a field of a configuration
├── Incomplete      exit 3: interrupted or out of room; finished work is kept
└── BrokenContract  exit 4: a method does what no private method may do

Any other exception is a fault of this program: exit 1.
"""


class AuditError(Exception):
    """Something to be told in one line. `exit_code` is what the command returns."""

    exit_code = 1


class BadInput(AuditError):
    """The person can mend it: the message says the field, the value and what is allowed."""

    exit_code = 2


class BadData(BadInput):
    """Data that cannot be used as they are."""


class BadConfig(BadInput):
    """A setting outside what is allowed."""


class Incomplete(AuditError):
    """The work stopped early; the same command goes on from there."""

    exit_code = 3


class BrokenContract(AuditError):
    """What a private method must keep, and did not; the message is the sentence that names it."""

    exit_code = 4
