"""Text for messages, and for a POSIX shell."""

import reprlib
import shlex
from collections.abc import Iterable

from gesscale.common.errors import InputError

_SHOWN = 5
_SHOWN_CHARACTERS = 40
_GLIMPSE_CHARACTERS = 60
_LONGEST_NUMBER_BITS = 1000


def enumerate_some(items: Iterable[str]) -> str:
    """Write the first five items of a listing, and how many follow."""
    every = list(items)
    more = f", ... {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more


def shortened(text: str) -> str:
    """Quote a text for a message, cut to 40 characters."""
    return repr(text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "...")


def glimpse(value: object) -> str:
    """Show in at most 60 characters how a value of any size begins; never write out the whole of it first.

    Examples
    --------
    >>> glimpse({"period": ["5x"]}), glimpse(10**5000)
    ("{'period': ['5x']}", 'a whole number of 16610 bits')
    """
    text = _GLIMPSE.repr(value)
    return text if len(text) <= _GLIMPSE_CHARACTERS else text[: _GLIMPSE_CHARACTERS - 3] + "..."


class _Glimpse(reprlib.Repr):
    """Shows a few members of each level, and of long numbers only their size: Python refuses to write these."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxlist = self.maxtuple = self.maxset = self.maxdict = _GLIMPSE_CHARACTERS // 4
        self.maxstring = self.maxother = _GLIMPSE_CHARACTERS

    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() > _LONGEST_NUMBER_BITS:
            return f"a whole number of {x.bit_length()} bits"
        return super().repr_int(x, level)


_GLIMPSE = _Glimpse()


def command_line(words: Iterable[str]) -> str:
    """Write a command and its arguments so that a shell reads exactly these words, whatever they hold.

    Raises
    ------
    InputError
        A word holds a character that no argument of a command can hold.

    Examples
    --------
    >>> command_line(("echo", "$(reboot)"))
    "echo '$(reboot)'"
    """
    every = tuple(words)
    for word in every:
        if "\0" in word or any("\ud800" <= letter <= "\udfff" for letter in word):
            raise InputError(f"expected a word that a command can be given, got {shortened(word)}")
    return shlex.join(every)


def comment(text: str) -> str:
    r"""Write text as one comment of a shell script; what cannot be printed becomes a question mark.

    Examples
    --------
    >>> comment("node a\nreboot")
    '# node a?reboot'
    """
    return "# " + "".join(letter if letter.isprintable() else "?" for letter in text)
