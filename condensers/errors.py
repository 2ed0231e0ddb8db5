"""All exceptions of this project; the command line turns each into a one-line message and an exit code.

AuditError
├── BadInput        exit 2: the user can correct it; nothing was written
│   ├── BadData     a data set, a score table or a file of weights is not what it should be
│   └── BadConfig   a flag or a field of a configuration
├── Incomplete      exit 3: interrupted or out of disk space; finished work is kept
└── BrokenContract  exit 4: a method breaks a rule that private methods must follow

Any other exception is a bug in this program: exit 1.
"""


class AuditError(Exception):
    """An error with a one-line message. `exit_code` is what the command returns."""

    exit_code = 1


class BadInput(AuditError):
    """The user can correct it: the message names the field, the value and what is allowed."""

    exit_code = 2


class BadData(BadInput):
    """Data that cannot be used as they are."""


class MissingData(BadData):
    """A data set that is not on this machine."""


class BadConfig(BadInput):
    """A setting outside what is allowed."""


class Incomplete(AuditError):
    """The work stopped early; the same command resumes it."""

    exit_code = 3


class BrokenContract(AuditError):
    """A private method broke a rule; the message is the sentence that names the rule."""

    exit_code = 4
