"""Short texts for values of any size, for messages."""

import reprlib
from collections.abc import Iterable

_SHOWN = 5
_SHOWN_CHARACTERS = 40
_REPR_CHARACTERS = 60
_MAX_NUMBER_BITS = 1000


def format_list(items: Iterable[str]) -> str:
    """Format the first five items of a list, and the number of the others."""
    every = list(items)
    more = f", ... {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more


def shortened(text: str) -> str:
    """Quote a text for a message, cut to 40 characters."""
    return repr(text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "...")


def cut_at_word(text: str, chars: int) -> str:
    """Return a text of at most `chars` characters, cut at the end of a word if one ends in the last fifth.

    Examples
    --------
    >>> cut_at_word("the API server is unreachable", 22)
    'the API server is ...'
    """
    if len(text) <= chars:
        return text
    head, _, tail = text[: chars - 3].rpartition(" ")
    return f"{head} ..." if len(tail) < chars // 5 else text[: chars - 3] + "..."


def truncated_repr(value: object) -> str:
    """Return the beginning of the repr of a value in at most 60 characters, without building all of it.

    Examples
    --------
    >>> truncated_repr({"period": ["5x"]}), truncated_repr(10**5000)
    ("{'period': ['5x']}", 'a whole number of 16610 bits')
    """
    text = _TRUNCATED.repr(value)
    return text if len(text) <= _REPR_CHARACTERS else text[: _REPR_CHARACTERS - 3] + "..."


class _TruncatedRepr(reprlib.Repr):
    """Shows a few members of each level, and only the size of long numbers, which Python refuses to format."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxlist = self.maxtuple = self.maxset = self.maxdict = _REPR_CHARACTERS // 4
        self.maxstring = self.maxother = _REPR_CHARACTERS

    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() > _MAX_NUMBER_BITS:
            return f"a whole number of {x.bit_length()} bits"
        return super().repr_int(x, level)


_TRUNCATED = _TruncatedRepr()
