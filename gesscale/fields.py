"""Types of settings: a group, a duration, a path, a web address.

A duration carries its unit in the file (``period: 1m``) and in its name in code (``period_s``).
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, ClassVar, Self, Union, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo

from gesscale.common.errors import InvalidValueError
from gesscale.constraints import Constraint

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PATTERN = r"^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)?$"

#: Bounds of any duration: a millisecond, and ten years, beyond which arithmetic with times overflows.
MIN_DURATION_S, MAX_DURATION_S = 0.001, 3650 * 86400.0

#: The year 2100, in seconds since the epoch; a later date is an error.
MAX_EPOCH_S = 4_102_444_800.0

#: Shortest time between two steps: a shorter one would delay the steps of all other operators.
MIN_PERIOD_S = 1.0

#: Limits of the time that each step reads, and of the wait for a response.
MAX_HISTORY_S, MAX_TIMEOUT_S = 7 * 86400.0, 30.0

#: Largest integer up to which a float, and so JSON, is exact.
MAX_EXACT_INTEGER = 2**53

#: Largest threshold in rows, or rows per second.
MAX_ROWS = 1e15


def parse_duration_s(value: object, *, min_s: float = MIN_DURATION_S, max_s: float = MAX_DURATION_S) -> float:
    """Parse a duration.

    Parameters
    ----------
    value
        A positive number of seconds, or a number with a unit: ms, s, m, h or d.

    Raises
    ------
    InvalidValueError
        If it is anything else, or out of bounds.

    Examples
    --------
    >>> parse_duration_s("5m"), parse_duration_s("250ms"), parse_duration_s(30)
    (300.0, 0.25, 30.0)
    """
    seconds: float = 0.0
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value
    elif isinstance(value, str) and (match := re.fullmatch(_PATTERN, value)):
        seconds = float(match[1]) * _SECONDS[match[2] or "s"]
    if not min_s <= seconds <= max_s:
        raise InvalidValueError("duration-invalid", min=format_duration(min_s), max=format_duration(max_s), got=value)
    return float(seconds)


def format_duration(seconds: float, units: Sequence[str] = ("d", "h", "m", "s")) -> str:
    """Write a duration in the largest unit that divides it.

    Examples
    --------
    >>> format_duration(300.0), format_duration(90.0), format_duration(0.25)
    ('5m', '90s', '250ms')
    """
    for unit in units:
        if seconds % _SECONDS[unit] == 0:
            return f"{seconds / _SECONDS[unit]:.0f}{unit}"
    return f"{seconds * 1000:g}ms"


def _schema(min_s: float = MIN_DURATION_S, max_s: float = MAX_DURATION_S) -> WithJsonSchema:
    number = {"type": "number", "minimum": min_s, "maximum": max_s}
    return WithJsonSchema({"anyOf": [number, {"type": "string", "pattern": _PATTERN}]})


#: Seconds; a field of this type is called ``..._s`` in code, and without ``_s`` in a settings file.
Duration = Annotated[float, BeforeValidator(parse_duration_s), _schema()]

#: Seconds between two steps.
Period = Annotated[float, BeforeValidator(partial(parse_duration_s, min_s=MIN_PERIOD_S)), _schema(MIN_PERIOD_S)]

#: Seconds of history that each step reads.
History = Annotated[
    float, BeforeValidator(partial(parse_duration_s, max_s=MAX_HISTORY_S)), _schema(max_s=MAX_HISTORY_S)
]

#: Seconds that a request may take.
Timeout = Annotated[
    float, BeforeValidator(partial(parse_duration_s, max_s=MAX_TIMEOUT_S)), _schema(max_s=MAX_TIMEOUT_S)
]


def _file_path(value: Path) -> Path:
    if "\0" in str(value):
        raise InvalidValueError("path-invalid", got=str(value))
    return value


#: The path of a file, which need not exist.
FilePath = Annotated[Path, AfterValidator(_file_path)]


def web_address(value: str) -> str:
    """Check an address of a server: ``http(s)://host[:port][/path]``.

    A user name, a query or a fragment is rejected: gesscale adds the path and the query.

    Raises
    ------
    InvalidValueError
        If it is anything else.
    """
    try:
        parts = urlsplit(value)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # urlsplit and its port raise it on nonsense
        known = False
    if not known:
        raise InvalidValueError("address-invalid", got=value)
    if "@" in parts.netloc or any(mark in value for mark in "?#%"):
        raise InvalidValueError("address-has-extras", got=value)
    return value


#: An http or https address.
WebAddress = Annotated[str, AfterValidator(web_address)]


#: Seconds since the epoch.
EpochSeconds = Annotated[float, Field(ge=0, le=MAX_EPOCH_S)]


class SettingsGroup(BaseModel):
    """A group of settings: frozen, without unknown keys; durations lose their ``_s`` in the file.

    The docstring of a setting is its description in the reference.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=lambda name: name.removesuffix("_s"),
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )
    CONSTRAINTS: ClassVar[tuple[Constraint, ...]] = ()

    @field_validator("*", mode="before")
    @classmethod
    def _reject_boolean_numbers(cls, value: Any, info: ValidationInfo) -> Any:
        """Reject YAML's yes, no, true and false as a number: pydantic reads them as 1 and 0."""
        if isinstance(value, bool) and info.field_name and _is_number(cls.model_fields[info.field_name]):
            raise InvalidValueError("number-is-boolean", got=value)
        return value

    @model_validator(mode="after")
    def _check_constraints(self) -> Self:
        for constraint in self.CONSTRAINTS:
            if not constraint.holds(self):
                raise InvalidValueError([constraint.problem(self)])
        return self


def _is_number(field: FieldInfo) -> bool:
    """Return whether a field is a number; not one that is parsed from text, such as a duration."""
    optional = get_origin(field.annotation) in (Union, UnionType)
    kinds = set(get_args(field.annotation) if optional else (field.annotation,))
    from_text = any(isinstance(each, BeforeValidator) for each in field.metadata)
    return bool(kinds & {int, float}) and bool not in kinds and not from_text


def description_of(field: FieldInfo) -> str:
    """Return the description of a field, on one line."""
    return " ".join((field.description or "").split())


def model_within(annotation: object) -> type[BaseModel] | None:
    """Return the model in a field's type, which may be an option or a mapping of it; None for a plain value."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := model_within(arg))), None)
