"""What a person may have meant by a name that does not exist."""

import difflib
from collections.abc import Iterable

LONGEST = 60  # a longer word is not a misspelt name


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message: `; did you mean dm?` where a known name is close, else nothing.

    >>> did_you_mean("iteratons", ["ipc", "iterations"])
    '; did you mean iterations?'
    >>> did_you_mean("colour", ["ipc", "iterations"])
    ''
    """
    by_lower_case = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), by_lower_case, n=1) if len(word) <= LONGEST else []
    return f"; did you mean {by_lower_case[near[0]]}?" if near else ""
