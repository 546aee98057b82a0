"""What settings are made of: a group, a duration, a web address.

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

from gesscale.conditions import Condition

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PATTERN = r"^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)?$"

#: Any duration: from a millisecond to ten years, beyond which arithmetic with times breaks.
MIN_DURATION_S, MAX_DURATION_S = 0.001, 3650 * 86400.0

#: The year 2100, in seconds since the epoch: what is dated later is dated wrongly.
MAX_EPOCH_S = 4_102_444_800.0

#: Between two steps: an operator that is looked at more often keeps the scaler from all others.
MIN_PERIOD_S = 1.0

#: Of what is read in each step, and of the wait for it.
MAX_HISTORY_S, MAX_TIMEOUT_S = 7 * 86400.0, 30.0

#: Of whole numbers: up to here a float, and so JSON, counts exactly.
MAX_EXACT_INTEGER = 2**53

#: Rows, and rows per second, that a threshold may name.
MAX_ROWS = 1e15


def parse_duration_s(value: object, *, least_s: float = MIN_DURATION_S, most_s: float = MAX_DURATION_S) -> float:
    """Read a duration.

    Parameters
    ----------
    value
        A positive number of seconds, or a number with a unit: ms, s, m, h or d.

    Raises
    ------
    ValueError
        At anything else.

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
    if not least_s <= seconds <= most_s:
        raise ValueError(
            "expected a positive duration such as 30, '250ms', '30s', '5m', '1h' or '7d', "
            f"{format_duration(least_s)} to {format_duration(most_s)}"
        )
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


def _schema(least_s: float = MIN_DURATION_S, most_s: float = MAX_DURATION_S) -> WithJsonSchema:
    number = {"type": "number", "minimum": least_s, "maximum": most_s}
    return WithJsonSchema({"anyOf": [number, {"type": "string", "pattern": _PATTERN}]})


#: Seconds; a field of this type is called ``..._s`` in code, and without ``_s`` in a settings file.
Duration = Annotated[float, BeforeValidator(parse_duration_s), _schema()]

#: Seconds between two steps.
Period = Annotated[float, BeforeValidator(partial(parse_duration_s, least_s=MIN_PERIOD_S)), _schema(MIN_PERIOD_S)]

#: Seconds for which something is read in each step.
History = Annotated[
    float, BeforeValidator(partial(parse_duration_s, most_s=MAX_HISTORY_S)), _schema(most_s=MAX_HISTORY_S)
]

#: Seconds that a request may take.
Timeout = Annotated[
    float, BeforeValidator(partial(parse_duration_s, most_s=MAX_TIMEOUT_S)), _schema(most_s=MAX_TIMEOUT_S)
]


def _file_path(value: Path) -> Path:
    if "\0" in str(value):
        raise ValueError("expected the path of a file, which has no character 0")
    return value


#: The path of a file; whether there is one is not looked at.
FilePath = Annotated[Path, AfterValidator(_file_path)]


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
        raise ValueError("expected an address such as http://10.0.0.1:9090")
    if "@" in parts.netloc or any(mark in value for mark in "?#%"):
        raise ValueError("expected an address without user name, query and escapes, such as http://10.0.0.1:9090")
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
    CONDITIONS: ClassVar[tuple[Condition, ...]] = ()

    @field_validator("*", mode="before")
    @classmethod
    def _take_no_truth_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse YAML's yes, no, true and false where a number is wanted: pydantic takes them for 1 and 0."""
        if isinstance(value, bool) and info.field_name and _wants_number(cls.model_fields[info.field_name]):
            raise ValueError("expected a number")
        return value

    @model_validator(mode="after")
    def _keep_conditions(self) -> Self:
        for condition in self.CONDITIONS:
            if not condition.holds(self):
                raise ValueError(condition.message(self))
        return self


def _wants_number(field: FieldInfo) -> bool:
    """Return whether a field is a number; not one that is read from text, such as a duration, and says so itself."""
    optional = get_origin(field.annotation) in (Union, UnionType)
    kinds = set(get_args(field.annotation) if optional else (field.annotation,))
    from_text = any(isinstance(each, BeforeValidator) for each in field.metadata)
    return bool(kinds & {int, float}) and bool not in kinds and not from_text


def description_of(field: FieldInfo) -> str:
    """Return what a field is, on one line."""
    return " ".join((field.description or "").split())


def model_within(annotation: object) -> type[BaseModel] | None:
    """Return the group that a field's type is, or is a mapping of or an option of; None for a plain value."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := model_within(arg))), None)
