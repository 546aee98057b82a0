"""What settings are made of: a group, a duration, a web address.

A duration carries its unit in the file (``period: 1m``) and in its name in code (``period_s``).
"""

import math
import re
from typing import Annotated, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PATTERN = r"^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)?$"


def parse_duration_s(value: object) -> float:
    """Read a duration.

    Parameters
    ----------
    value
        A positive number of seconds, or a number with a unit: ms, s, m, h or d.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    ValueError
        At anything else.

    Examples
    --------
    >>> parse_duration_s("5m"), parse_duration_s("250ms"), parse_duration_s(30)
    (300.0, 0.25, 30.0)
    """
    seconds = 0.0
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    elif isinstance(value, str) and (match := re.fullmatch(_PATTERN, value)):
        seconds = float(match[1]) * _SECONDS[match[2] or "s"]
    if not (math.isfinite(seconds) and seconds > 0):
        message = "expected a positive duration such as 30, '250ms', '30s', '5m', '1h' or '7d'"
        raise ValueError(message)
    return seconds


def format_duration(seconds: float) -> str:
    """Write a duration in the largest unit that divides it.

    Examples
    --------
    >>> format_duration(300.0), format_duration(90.0), format_duration(0.25)
    ('5m', '90s', '250ms')
    """
    for unit in ("d", "h", "m", "s"):
        if seconds % _SECONDS[unit] == 0:
            return f"{seconds / _SECONDS[unit]:g}{unit}"
    return f"{seconds * 1000:g}ms"


Duration = Annotated[
    float,
    BeforeValidator(parse_duration_s),
    WithJsonSchema(
        {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": _PATTERN}]}
    ),
]
"""Seconds; a field of this type is called ``..._s`` in code, and without ``_s`` in a settings file."""


def web_address(value: str) -> str:
    """Check an address of a server: ``http(s)://host[:port][/path]``.

    A user name, a query or a fragment is refused: what is asked for is ours to say.

    Raises
    ------
    ValueError
        It is something else.
    """
    try:
        parts = urlsplit(value)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # urlsplit and its port raise it on nonsense
        known = False
    if not known:
        message = "expected an address such as http://10.0.0.1:9090"
        raise ValueError(message)
    if "@" in parts.netloc or any(mark in value for mark in "?#%"):
        message = "expected an address without user name, query and escapes, such as http://10.0.0.1:9090"
        raise ValueError(message)
    return value


WebAddress = Annotated[str, AfterValidator(web_address)]
"""An http or https address."""


class Group(BaseModel):
    """A group of settings: frozen, without unknown keys; durations lose their ``_s`` in the file."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=lambda name: name.removesuffix("_s"), allow_inf_nan=False
    )


def model_within(annotation: object) -> type[BaseModel] | None:
    """Return the group that a field's type is, or is a mapping of or an option of; None for a plain value."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := model_within(arg))), None)
