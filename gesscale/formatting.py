"""Figures and names as people say them."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

from gesscale.common.text import shortened, truncated_repr

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_MOST_FAULTS = 20
_LONGEST_KEY = 120
_LONGEST_TEXT = 200
#: What to call a kind of value that something else came in the place of, by pydantic's type of the fault.
_KINDS = {
    **dict.fromkeys(("float_parsing", "float_type", "decimal_parsing", "decimal_type"), "a number"),
    **dict.fromkeys(("int_parsing", "int_parsing_size", "int_type", "int_from_float"), "a whole number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), "a list"),
    **dict.fromkeys(("dict_type", "mapping_type"), "a mapping"),
    "string_type": "text, in quotes where YAML takes it for something else",
}
_UNITS = (("days", 86400.0), ("h", 3600.0), ("min", 60.0))


def format_duration(seconds: float) -> str:
    """Write a span of time in the largest unit that it holds twice.

    Examples
    --------
    >>> format_duration(93_600), format_duration(200), format_duration(45), format_duration(864_000)
    ('26 h', '3 min', '45 s', '10 days')
    """
    for unit, size_s in _UNITS:
        if seconds >= 2 * size_s:
            return f"{seconds / size_s:.0f} {unit}"
    return f"{seconds:.0f} s"


def suggestion(name: str, known: Collection[str]) -> str:
    """Say what somebody may have meant: the nearest known name, or else all of them.

    Examples
    --------
    >>> suggestion("gescale", ["gesscale", "static"]), suggestion("x", ["gesscale", "static"])
    ("did you mean 'gesscale'?", 'known here: gesscale, static')
    """
    nearest = get_close_matches(name, known, n=1)
    return f"did you mean {nearest[0]!r}?" if nearest else f"known here: {', '.join(sorted(known))}"


def key_path(keys: Iterable[object]) -> str:
    r"""Write the keys that lead to a value, on one line whatever they are.

    Examples
    --------
    >>> print(key_path(("monitor", "period")), key_path(("a\nb", 0)))
    monitor.period 'a\nb'.0
    """
    return ".".join(_key(str(key)) for key in keys)


def limited(faults: Iterable[str], count: int) -> Iterator[str]:
    """Yield the first of so many faults, and how many follow; no more than these are put into words."""
    yield from islice(faults, _MOST_FAULTS)
    if count > _MOST_FAULTS:
        yield f"{count - _MOST_FAULTS} more faults"


def first_fault(error: "ValidationError") -> str:
    """Return the first thing that is wrong with a value: the field's path, what was expected, what came."""
    fault = error.errors(include_url=False, include_context=False)[0]
    place = key_path(fault["loc"])
    return f"{place}: {describe_fault(fault)}" if place else describe_fault(fault)


def describe_fault(fault: "ErrorDetails", *, group: str = "a mapping") -> str:
    """Return what is wrong with a value: what was expected and, unless it is a whole group, what came.

    Examples
    --------
    >>> describe_fault({"type": "greater_than", "loc": (), "msg": "Input should be greater than 0", "input": -1})
    'expected greater than 0, got -1'
    >>> describe_fault({"type": "tuple_type", "loc": (), "msg": "Input should be a valid tuple", "input": "ds2"})
    "expected a list, got 'ds2'"
    """
    from pydantic import BaseModel

    if fault["type"] == "missing":
        return "it is required"
    if fault["type"] == "too_short" and not fault.get("input", True):
        return "expected at least one, got none"
    if fault["type"] in _KINDS:
        text = f"expected {_KINDS[fault['type']]}"
        return f"{text}, got {truncated_repr(fault['input'])}" if "input" in fault else text
    text = fault["msg"].removeprefix("Value error, ")
    text = re.sub(
        r"^Input should be (a valid dictionary or (instance|object) .*|an object$)?",
        lambda found: f"expected {group}" if found[1] else "expected ",
        text,
    )
    # A group that contradicts itself says what came; a single value does not.
    came = fault.get("input", {})
    whole = isinstance(came, Mapping | BaseModel) or fault["type"] == "json_invalid"
    return text if whole or ", got " in text else f"{text}, got {truncated_repr(came)}"


def describe_exception(error: BaseException) -> str:
    """Say on one line what somebody else's code raised: its kind, and the beginning of its text."""
    try:
        text = " ".join(str(error).split())[:_LONGEST_TEXT]
    except Exception:  # noqa: BLE001 - somebody's own exception may do anything when it is shown
        text = ""
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return f"{type(error).__name__}{': ' if text else ''}{text}"


def _key(key: str) -> str:
    return key if key.isprintable() and len(key) <= _LONGEST_KEY else shortened(key)
