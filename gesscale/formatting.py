"""Formats durations, figures, names and exceptions for messages."""

from collections.abc import Iterable

from gesscale.common.text import shortened

_MAX_KEY_CHARACTERS = 120
_MAX_TEXT_CHARACTERS = 200
_UNITS = (("days", 86400.0), ("h", 3600.0), ("min", 60.0))


def format_duration(seconds: float) -> str:
    """Format a duration in the largest unit of which it has at least two.

    Examples
    --------
    >>> format_duration(93_600), format_duration(200), format_duration(45), format_duration(864_000)
    ('26 h', '3 min', '45 s', '10 days')
    """
    for unit, size_s in _UNITS:
        if seconds >= 2 * size_s:
            return f"{seconds / size_s:.0f} {unit}"
    return f"{seconds:.0f} s"


def format_figure(value: float) -> str:
    """Format a figure: four digits if small, a whole number if large.

    Examples
    --------
    >>> format_figure(0.00496), format_figure(12345.6)
    ('0.00496', '12346')
    """
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def key_path(keys: Iterable[object]) -> str:
    r"""Format the path of keys to a value, always on one line.

    Examples
    --------
    >>> print(key_path(("monitor", "period")), key_path(("a\nb", 0)))
    monitor.period 'a\nb'.0
    """
    return ".".join(_key(str(key)) for key in keys)


def describe_exception(error: BaseException) -> str:
    """Return the type of an exception and the beginning of its message, on one line."""
    try:
        text = " ".join(str(error).split())[:_MAX_TEXT_CHARACTERS]
    except Exception:  # noqa: BLE001 - formatting an exception of other code may raise
        text = ""
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return f"{type(error).__name__}{': ' if text else ''}{text}"


def _key(key: str) -> str:
    return key if key.isprintable() and len(key) <= _MAX_KEY_CHARACTERS else shortened(key)
