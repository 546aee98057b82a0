"""Building blocks of the resource's models: camelCase names, times, and rules that the API server checks too."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel, to_pascal
from pydantic_core import CoreSchema, core_schema

from gesscale.common.errors import InvalidValueError
from gesscale.constraints import Constraint, Requires
from gesscale.fields import (
    MAX_DURATION_S,
    MAX_HISTORY_S,
    MAX_TIMEOUT_S,
    MIN_DURATION_S,
    MIN_PERIOD_S,
    WebAddress,
    description_of,
    format_duration,
)
from gesscale.model.schedule import MAX_SCHEDULE_S

_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
#: Go's durations, as the API server parses them; there are no days.
SPAN_PATTERN = r"([0-9]{1,6}(\.[0-9]{1,3})?(h|m|s|ms)){1,3}"
INSTANT_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$"


#: The second to last second of the year 9999, which may be rounded up.
_LAST_S = 253_402_300_798


def parse_span_s(value: object, *, min_s: float = MIN_DURATION_S, max_s: float = MAX_DURATION_S) -> float:
    """Parse a duration of a resource.

    Raises
    ------
    InvalidValueError
        For anything else, a bare number too.

    Examples
    --------
    >>> parse_span_s("1h30m"), parse_span_s("250ms")
    (5400.0, 0.25)
    """
    seconds = 0.0
    if isinstance(value, str) and re.fullmatch(SPAN_PATTERN, value):
        parts = re.findall(r"([0-9.]+)(ms|h|m|s)", value)
        seconds = sum(float(number) * _UNITS_S[unit] for number, unit in parts)
    if not min_s <= seconds <= max_s:
        raise InvalidValueError("resource-duration-invalid", min=format_span(min_s), max=format_span(max_s), got=value)
    return seconds


def format_span(seconds: float) -> str:
    """Format a duration in the largest unit that divides it.

    Examples
    --------
    >>> format_span(604_800.0), format_span(90.0), format_span(0.25)
    ('168h', '90s', '250ms')
    """
    return format_duration(seconds, ("h", "m", "s"))


def parse_instant_s(value: object) -> float:
    """Parse an instant.

    Raises
    ------
    InvalidValueError
        For anything else.

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
    raise InvalidValueError("instant-invalid", got=value)


def format_instant(at_s: float) -> str:
    """Format an instant to the second.

    Examples
    --------
    >>> format_instant(1_800_000_000.4)
    '2027-01-15T08:00:00Z'
    """
    return datetime.fromtimestamp(round(at_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_exact_instant(at_s: float) -> str:
    """Format an instant to the microsecond.

    Examples
    --------
    >>> format_exact_instant(1_800_000_000.25), format_exact_instant(1_800_000_000.0)
    ('2027-01-15T08:00:00.250000Z', '2027-01-15T08:00:00Z')
    """
    return datetime.fromtimestamp(at_s, UTC).isoformat().replace("+00:00", "Z")


#: Disables a time limit in a resource; null would be lost by ``kubectl apply``.
NEVER = "Never"

#: Maximum length of a list of nodes: the API server limits the worst-case cost of rules.
MAX_LISTED_NODES = 500

_LIMITS = ("gt", "ge", "lt", "le", "min_length", "max_length")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRule:
    """A constraint between the fields of a part."""

    #: In the Common Expression Language, where ``self`` is the part.
    cel: str
    #: The rule in a sentence.
    message: str
    #: The rule in Python; always true if only the API server can check it.
    holds: Callable[[Any], bool] = lambda _: True


class ResourcePart(BaseModel):
    """A part of a resource: frozen, camelCase names, times without the ``_s`` of the code."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=lambda name: to_camel(name.removesuffix("_s")),
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )
    RULES: ClassVar[tuple[ValidationRule, ...]] = ()

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Add the rules for the API server."""
        written = handler.resolve_ref_schema(handler(schema))
        if cls.RULES:
            written["x-kubernetes-validations"] = [{"rule": rule.cel, "message": rule.message} for rule in cls.RULES]
        return written

    @model_validator(mode="after")
    def _keep_rules(self) -> Self:
        for rule in self.RULES:
            if not rule.holds(self):
                raise InvalidValueError("resource-rule-violated", rule=rule.message)
        return self


class Reported(ResourcePart):
    """A part of a status: accepts the names of the code too, and ignores fields of a newer controller."""

    model_config = ConfigDict(
        extra="ignore", validate_by_name=True, validate_by_alias=True, use_attribute_docstrings=False
    )

    def document(self) -> dict[str, Any]:
        """Return it as JSON of the resource, without null values."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def like(group: type[BaseModel], name: str, **changed: Any) -> Any:
    """Return a field with the default, the description and the limits that a setting has."""
    field = group.model_fields[name]
    limits = {key: getattr(item, key) for item in field.metadata for key in _LIMITS if hasattr(item, key)}
    copied = {"default": field.default, "description": in_camel_case(description_of(field))}
    return Field(**{**copied, **limits, **changed})


def rule_of(constraint: Constraint, *, may_be_never: bool = False) -> ValidationRule:
    """Return a constraint between settings as a rule of a part."""
    if isinstance(constraint, Requires):
        cel = " || ".join((_choice("!=", constraint.choice), *(f"has({_member(n)})" for n in constraint.one_of)))
        message = constraint.rule(spell=to_pascal)
    else:
        exempt = [_choice("==", constraint.unless)] if constraint.unless else []
        never = [f"{_member(constraint.high)} == '{NEVER}'"] if may_be_never else []
        ordered = f"{_compared(constraint.low)} {constraint.sign} {_compared(constraint.high)}"
        cel = " || ".join((*exempt, *never, ordered))
        message = constraint.rule()
    return ValidationRule(cel=cel, message=in_camel_case(message), holds=constraint.holds)


def _choice(sign: str, choice: tuple[str, str]) -> str:
    setting, value = choice
    return f"{_member(setting)} {sign} '{to_pascal(value)}'"


def _compared(name: str) -> str:
    return f"duration({_member(name)})" if name.endswith("_s") else _member(name)


def _member(path: str) -> str:
    return ".".join(("self", *(to_camel(name.removesuffix("_s")) for name in path.split("."))))


def in_camel_case(text: str) -> str:
    """Convert the names of settings in a text to camelCase.

    Examples
    --------
    >>> in_camel_case("expected cpu_low_pct < cpu_high_pct")
    'expected cpuLowPct < cpuHighPct'
    """
    return re.sub(r"\b[a-z]+(?:_[a-z]+)+\b", lambda match: to_camel(match[0].removesuffix("_s")), text)


@dataclass(frozen=True, slots=True)
class _Written:
    """Format of a duration in a resource; None is `NEVER` if that is allowed."""

    min_s: float = MIN_DURATION_S
    max_s: float = MAX_DURATION_S
    never: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        written = core_schema.plain_serializer_function_ser_schema(self._write)
        return core_schema.no_info_before_validator_function(self._read, handler(source), serialization=written)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: Any) -> dict[str, Any]:
        least, most = format_span(self.min_s), format_span(self.max_s)
        # No pattern, which the API server would show instead of a sentence.
        within = f"duration(self) >= duration('{least}') && duration(self) <= duration('{most}')"
        rule = f"self.matches(r'^{SPAN_PATTERN}$') && {within}"
        message = f"expected a duration from {least} to {most} in h, m, s and ms, such as 1h30m; a day is 24h"
        return {
            "type": "string",
            "maxLength": 36,
            "x-kubernetes-validations": [
                {"rule": f"self == '{NEVER}' || ({rule})" if self.never else rule, "message": message}
            ],
        }

    def _read(self, value: object) -> float | None:
        if self.never and value in (NEVER, None):
            return None
        return parse_span_s(value, min_s=self.min_s, max_s=self.max_s)

    def _write(self, value: float | None) -> str:
        return NEVER if value is None else format_span(value)


#: A duration in seconds; text such as ``5m`` in the resource.
Span = Annotated[float, _Written()]

#: A period between two steps.
PeriodSpan = Annotated[float, _Written(min_s=MIN_PERIOD_S)]

#: The history read in each step.
HistorySpan = Annotated[float, _Written(max_s=MAX_HISTORY_S)]

#: The timeout of a request.
TimeoutSpan = Annotated[float, _Written(max_s=MAX_TIMEOUT_S)]

#: The duration of a schedule.
ScheduleSpan = Annotated[float, _Written(max_s=MAX_SCHEDULE_S)]

#: A duration in seconds; None for the word ``Never``.
SpanOrNever = Annotated[float | None, _Written(never=True)]

_INSTANT_SCHEMA = WithJsonSchema({"type": "string", "format": "date-time", "pattern": INSTANT_PATTERN, "maxLength": 36})

#: Seconds since the epoch; RFC 3339 text in the resource.
Instant = Annotated[
    float, BeforeValidator(parse_instant_s), PlainSerializer(format_instant, return_type=str), _INSTANT_SCHEMA
]

_SECONDS_OR_INSTANT = BeforeValidator(lambda value: value if isinstance(value, float) else parse_instant_s(value))

#: The same for fields that the controller writes; accepts seconds since the epoch too.
Moment = Annotated[float, _SECONDS_OR_INSTANT, PlainSerializer(format_instant, return_type=str), _INSTANT_SCHEMA]

#: The same to the microsecond.
ExactMoment = Annotated[
    float, _SECONDS_OR_INSTANT, PlainSerializer(format_exact_instant, return_type=str), _INSTANT_SCHEMA
]

#: Name of an object.
DnsName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", min_length=1, max_length=253)]

#: Name of a node.
NodeName = DnsName

#: A name that also fits into a label value.
ShortName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", min_length=1, max_length=63)]

_ADDRESS_PATTERN = r"^https?://[A-Za-z0-9._\[\]:-]+(/[A-Za-z0-9._~/-]*)?$"
_MAX_ADDRESS_CHARACTERS = 2048


def _plain_address(value: str) -> str:
    if len(value) > _MAX_ADDRESS_CHARACTERS or not re.search(_ADDRESS_PATTERN, value):
        raise InvalidValueError("address-invalid", got=value)
    return value


#: An http or https address.
Address = Annotated[
    WebAddress,
    AfterValidator(_plain_address),
    WithJsonSchema({"type": "string", "pattern": _ADDRESS_PATTERN, "maxLength": _MAX_ADDRESS_CHARACTERS}),
]
