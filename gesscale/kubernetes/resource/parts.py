"""What the parts of a resource are made of: names in camelCase, times, rules that the API server keeps too."""

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

_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
#: Go's durations, as the rules of the API server read them; it knows no days.
SPAN_PATTERN = r"([0-9]{1,6}(\.[0-9]{1,3})?(h|m|s|ms)){1,3}"
INSTANT_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$"


#: The last second but one of the year 9999, which may be rounded up.
_LAST_S = 253_402_300_798


def parse_span_s(value: object, *, least_s: float = MIN_DURATION_S, most_s: float = MAX_DURATION_S) -> float:
    """Read a duration of a resource.

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
        raise ValueError(
            "expected a positive duration such as 250ms, 30s, 5m, 1h30m or 168h, "
            f"{format_span(least_s)} to {format_span(most_s)}"
        )
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
    raise ValueError("expected an instant such as 2026-11-21T21:00:00Z")


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


#: How a resource says that a limit of time does not hold; null would be lost by ``kubectl apply``.
NEVER = "Never"

#: Nodes that one list holds: the API server counts what its rules may cost at worst.
NODES_AT_MOST = 500

_LIMITS = ("gt", "ge", "lt", "le", "min_length", "max_length")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRule:
    """What the members of a part must keep towards each other."""

    #: In the Common Expression Language, where ``self`` is the part.
    cel: str
    #: What was expected.
    message: str
    #: The same in Python; always true where only the API server can tell.
    holds: Callable[[Any], bool] = lambda _: True


class ResourcePart(BaseModel):
    """A part of a resource: frozen, members in camelCase, times without the ``_s`` of the code."""

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
        """Add what the API server is to check."""
        written = handler.resolve_ref_schema(handler(schema))
        if cls.RULES:
            written["x-kubernetes-validations"] = [{"rule": rule.cel, "message": rule.message} for rule in cls.RULES]
        return written

    @model_validator(mode="after")
    def _keep_rules(self) -> Self:
        for rule in self.RULES:
            if not rule.holds(self):
                raise ValueError(rule.message)
        return self


class Reported(ResourcePart):
    """A part of a status: may also be built by the names of the code; what a newer controller added is passed over."""

    model_config = ConfigDict(
        extra="ignore", validate_by_name=True, validate_by_alias=True, use_attribute_docstrings=False
    )

    def document(self) -> dict[str, Any]:
        """Return it as the resource holds it: absent rather than null."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def like(group: type[BaseModel], name: str, **changed: Any) -> Any:
    """Return a field with the default, the description and the limits that a setting has."""
    field = group.model_fields[name]
    limits = {key: getattr(item, key) for item in field.metadata for key in _LIMITS if hasattr(item, key)}
    said = {"default": field.default, "description": in_camel_case(description_of(field))}
    return Field(**{**said, **limits, **changed})


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
    """Write the names of settings within a text in camelCase.

    Examples
    --------
    >>> in_camel_case("expected cpu_low_pct < cpu_high_pct")
    'expected cpuLowPct < cpuHighPct'
    """
    return re.sub(r"\b[a-z]+(?:_[a-z]+)+\b", lambda match: to_camel(match[0].removesuffix("_s")), text)


@dataclass(frozen=True, slots=True)
class _Written:
    """How a resource writes a duration of some seconds; None for `NEVER`, where that may be said."""

    least_s: float = MIN_DURATION_S
    most_s: float = MAX_DURATION_S
    never: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        written = core_schema.plain_serializer_function_ser_schema(self._write)
        return core_schema.no_info_before_validator_function(self._read, handler(source), serialization=written)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: Any) -> dict[str, Any]:
        least, most = format_span(self.least_s), format_span(self.most_s)
        rule = f"duration(self) >= duration('{least}') && duration(self) <= duration('{most}')"
        message = f"expected a positive duration, {least} to {most}"
        return {
            "type": "string",
            "pattern": f"^({NEVER}|{SPAN_PATTERN})$" if self.never else f"^{SPAN_PATTERN}$",
            "maxLength": 36,
            "x-kubernetes-validations": [
                {"rule": f"self == '{NEVER}' || ({rule})" if self.never else rule, "message": message}
            ],
        }

    def _read(self, value: object) -> float | None:
        if self.never and value in (NEVER, None):
            return None
        return parse_span_s(value, least_s=self.least_s, most_s=self.most_s)

    def _write(self, value: float | None) -> str:
        return NEVER if value is None else format_span(value)


#: A duration in seconds; text such as ``5m`` in the resource.
Span = Annotated[float, _Written()]

#: The same between two steps.
PeriodSpan = Annotated[float, _Written(least_s=MIN_PERIOD_S)]

#: The same for what is read in each step.
HistorySpan = Annotated[float, _Written(most_s=MAX_HISTORY_S)]

#: The same for a request.
TimeoutSpan = Annotated[float, _Written(most_s=MAX_TIMEOUT_S)]

#: A duration in seconds, None for the word ``Never``.
SpanOrNever = Annotated[float | None, _Written(never=True)]

_INSTANT_SCHEMA = WithJsonSchema({"type": "string", "format": "date-time", "pattern": INSTANT_PATTERN, "maxLength": 36})

#: Seconds since the epoch; RFC 3339 text in the resource.
Instant = Annotated[
    float, BeforeValidator(parse_instant_s), PlainSerializer(format_instant, return_type=str), _INSTANT_SCHEMA
]

_SECONDS_OR_INSTANT = BeforeValidator(lambda value: value if isinstance(value, float) else parse_instant_s(value))

#: The same where we write it ourselves: may be given in seconds since the epoch too.
Moment = Annotated[float, _SECONDS_OR_INSTANT, PlainSerializer(format_instant, return_type=str), _INSTANT_SCHEMA]

#: The same to the microsecond.
ExactMoment = Annotated[
    float, _SECONDS_OR_INSTANT, PlainSerializer(format_exact_instant, return_type=str), _INSTANT_SCHEMA
]

#: The name of an object.
DnsName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", min_length=1, max_length=253)]

#: The name of a Kubernetes node.
NodeName = DnsName

#: A name that also fits into the value of a label.
ShortName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", min_length=1, max_length=63)]

_ADDRESS_PATTERN = r"^https?://[A-Za-z0-9._\[\]:-]+(/[A-Za-z0-9._~/-]*)?$"
_ADDRESS_LONGEST = 2048


def _plain_address(value: str) -> str:
    if len(value) > _ADDRESS_LONGEST or not re.search(_ADDRESS_PATTERN, value):
        raise ValueError("expected an address such as http://10.0.0.1:9090")
    return value


#: An http or https address.
Address = Annotated[
    WebAddress,
    AfterValidator(_plain_address),
    WithJsonSchema({"type": "string", "pattern": _ADDRESS_PATTERN, "maxLength": _ADDRESS_LONGEST}),
]
