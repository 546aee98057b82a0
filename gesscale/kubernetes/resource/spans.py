"""Times as Kubernetes writes them: durations such as ``90s``, instants such as ``2026-11-21T21:00:00Z``."""

import re
from datetime import UTC, datetime

_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
SPAN_PATTERN = r"([0-9]{1,6}(\.[0-9]{1,3})?(h|m|s|ms)){1,3}"
"""Go's durations, as the rules of the API server read them; it knows no days."""
INSTANT_PATTERN = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$"
)
LONGEST_SPAN_H = 87_600
"""Ten years: above any use, below what Go can count."""


def parse_span_s(value: object) -> float:
    """Read a duration of a resource.

    Parameters
    ----------
    value
        Text such as ``90s``, ``1h30m`` or ``250ms``.

    Returns
    -------
    float
        Seconds, above 0.

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
    if not 0 < seconds <= LONGEST_SPAN_H * _UNITS_S["h"]:
        message = "expected a positive duration such as 250ms, 30s, 5m, 1h30m or 168h, at most 87600h"
        raise ValueError(message)
    return seconds


def format_span(seconds: float) -> str:
    """Write a duration in the largest unit that divides it.

    Examples
    --------
    >>> format_span(604_800.0), format_span(90.0), format_span(0.25)
    ('168h', '90s', '250ms')
    """
    for unit in ("h", "m", "s"):
        if seconds % _UNITS_S[unit] == 0:
            return f"{seconds / _UNITS_S[unit]:.0f}{unit}"
    return f"{seconds * 1000:g}ms"


def parse_instant_s(value: object) -> float:
    """Read an instant.

    Parameters
    ----------
    value
        RFC 3339 text with a zone.

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
        try:
            return datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError):  # such as the 30th of February
            pass
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
