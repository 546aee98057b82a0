"""Times as Kubernetes writes them: durations such as ``90s``, instants such as ``2026-11-21T21:00:00Z``."""

import re
from contextlib import suppress
from datetime import UTC, datetime

from gesscale.fields import LONGEST_S, SHORTEST_S, format_duration

_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
SPAN_PATTERN = r"([0-9]{1,6}(\.[0-9]{1,3})?(h|m|s|ms)){1,3}"
"""Go's durations, as the rules of the API server read them; it knows no days."""
INSTANT_PATTERN = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$"
)


_LAST_S = 253_402_300_798
"""The last second but one of the year 9999, which may be rounded up."""


def parse_span_s(value: object, *, least_s: float = SHORTEST_S, most_s: float = LONGEST_S) -> float:
    """Read a duration of a resource.

    Parameters
    ----------
    value
        Text such as ``90s``, ``1h30m`` or ``250ms``.
    least_s, most_s
        What it may be; as in the settings.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    ValueError
        At anything else, a bare number too.

    Examples
    --------
    >>> parse_span_s("1h30m"), parse_span_s("250ms")
    (5400.0, 0.25)
    """
    seconds = 0.0
    if isinstance(value, str) and re.fullmatch(SPAN_PATTERN, value):
        parts = re.findall(r"([0-9.]+)(ms|h|m|s)", value)
        seconds = sum(float(number) * _UNITS_S[unit] for number, unit in parts)
    if not least_s <= seconds <= most_s:
        message = (
            "expected a positive duration such as 250ms, 30s, 5m, 1h30m or 168h, "
            f"{format_span(least_s)} to {format_span(most_s)}"
        )
        raise ValueError(message)
    return seconds


def format_span(seconds: float) -> str:
    """Write a duration in the largest unit that divides it.

    Examples
    --------
    >>> format_span(604_800.0), format_span(90.0), format_span(0.25)
    ('168h', '90s', '250ms')
    """
    return format_duration(seconds, ("h", "m", "s"))


def parse_instant_s(value: object) -> float:
    """Read an instant.

    Parameters
    ----------
    value
        RFC 3339 text with a zone, of 1970 or later.

    Returns
    -------
    float
        Seconds since the epoch.

    Raises
    ------
    ValueError
        At anything else.

    Examples
    --------
    >>> parse_instant_s("1970-01-01T01:00:00.5+01:00")
    0.5
    """
    if isinstance(value, str) and re.fullmatch(INSTANT_PATTERN, value):
        with suppress(ValueError, OverflowError):  # such as the 30th of February
            at_s = datetime.fromisoformat(value).timestamp()
            if 0 <= at_s <= _LAST_S:
                return at_s
    message = "expected an instant such as 2026-11-21T21:00:00Z"
    raise ValueError(message)


def format_instant(at_s: float) -> str:
    """Write an instant to the second.

    Examples
    --------
    >>> format_instant(1_800_000_000.4)
    '2027-01-15T08:00:00Z'
    """
    return datetime.fromtimestamp(round(at_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_exact_instant(at_s: float) -> str:
    """Write an instant to the microsecond.

    Examples
    --------
    >>> format_exact_instant(1_800_000_000.25), format_exact_instant(1_800_000_000.0)
    ('2027-01-15T08:00:00.250000Z', '2027-01-15T08:00:00Z')
    """
    return datetime.fromtimestamp(at_s, UTC).isoformat().replace("+00:00", "Z")
