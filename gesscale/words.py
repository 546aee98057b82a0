"""Figures as people say them."""

_UNITS = (("days", 86400.0), ("h", 3600.0), ("min", 60.0))


def in_words(seconds: float) -> str:
    """Write a span of time in the largest unit of which it holds two.

    Examples
    --------
    >>> in_words(93_600), in_words(200), in_words(45), in_words(864_000)
    ('26 h', '3 min', '45 s', '10 days')
    """
    for unit, size_s in _UNITS:
        if seconds >= 2 * size_s:
            return f"{seconds / size_s:.0f} {unit}"
    return f"{seconds:.0f} s"
