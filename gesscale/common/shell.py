"""Commands and comments for a POSIX shell."""

import shlex
from collections.abc import Iterable

from gesscale.common.errors import InputError


def command_line(words: Iterable[str]) -> str:
    """Quote a command and its arguments, so that a shell reads exactly these words.

    Raises
    ------
    InputError
        A word contains a character that no argument of a command can contain.

    Examples
    --------
    >>> command_line(("echo", "$(reboot)"))
    "echo '$(reboot)'"
    """
    every = tuple(words)
    for word in every:
        if "\0" in word or any("\ud800" <= letter <= "\udfff" for letter in word):
            raise InputError("command-word-invalid", word=word)
    return shlex.join(every)


def comment(text: str) -> str:
    r"""Return text as one comment line of a shell script; unprintable characters become question marks.

    Examples
    --------
    >>> comment("node a\nreboot")
    '# node a?reboot'
    """
    return "# " + "".join(letter if letter.isprintable() else "?" for letter in text)
