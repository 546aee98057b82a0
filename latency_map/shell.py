"""Text for a POSIX shell: the one place where the words of a command become a line that a shell reads."""

import shlex
from collections.abc import Iterable

from latency_map.errors import LatencyMapError, shortened


def command_line(words: Iterable[str]) -> str:
    r"""Write words so that a shell reads exactly these words, whatever they hold.

    Parameters
    ----------
    words
        A command and its arguments, or some arguments of one.

    Returns
    -------
    str
        The words, quoted where needed and separated by blanks.

    Raises
    ------
    LatencyMapError
        A word holds a character that no argument of a command can hold.

    Examples
    --------
    >>> command_line(("tc", "qdisc", "show", "dev", "eth0"))
    'tc qdisc show dev eth0'
    >>> command_line(("echo", "$(reboot)"))
    "echo '$(reboot)'"
    """
    every = tuple(words)
    for word in every:
        if "\0" in word or any("\ud800" <= letter <= "\udfff" for letter in word):
            message = f"expected a word that a command can be given, got {shortened(word)}"
            raise LatencyMapError(message)
    return shlex.join(every)


def comment(text: str) -> str:
    r"""Write text as one comment of a shell script; what cannot be printed becomes a question mark.

    Examples
    --------
    >>> comment("node a\nreboot")
    '# node a?reboot'
    """
    return "# " + "".join(letter if letter.isprintable() else "?" for letter in text)
