"""Problems of values that pydantic rejects: a code, the place of the value, and what was expected."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gesscale.common.errors import GesscaleError, Problem
from gesscale.common.text import truncated_repr
from gesscale.formatting import key_path

_MAX_PROBLEMS = 20
#: Names of the kinds of value that were expected, by pydantic's type of the error.
_KINDS = {
    **dict.fromkeys(("float_parsing", "float_type", "decimal_parsing", "decimal_type"), "a number"),
    **dict.fromkeys(("int_parsing", "int_parsing_size", "int_type", "int_from_float"), "a whole number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), "a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), "a mapping"),
    "string_type": "text; quote a value that YAML reads as another type",
    "json_invalid": "JSON",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemCodes:
    """Codes for the kinds of wrong values in one kind of document."""

    #: A key that the document must not have.
    unknown: str
    #: A key that it lacks.
    required: str
    #: A value of a wrong type or out of its range.
    invalid: str
    #: A value that a validator rejects with a text.
    rejected: str


#: Codes of fields of a document, such as a record or a topology.
FIELD_CODES = ProblemCodes(
    unknown="field-unknown", required="field-required", invalid="field-invalid", rejected="field-rejected"
)
#: Codes of settings.
SETTING_CODES = ProblemCodes(
    unknown="setting-unknown", required="setting-required", invalid="setting-invalid", rejected="setting-rejected"
)


def problems_of(error: ValidationError, *, source: str = "", codes: ProblemCodes = FIELD_CODES) -> tuple[Problem, ...]:
    """Return a problem for each rejected value, with its source and its place; the first twenty of many."""
    return limited([problem_of(each, source=source, codes=codes) for each in error.errors(include_url=False)])


def first_problem(error: ValidationError, *, source: str = "", place: str = "") -> Problem:
    """Return the first problem; ``place``, such as a line, comes before the place of the value."""
    return problem_of(error.errors(include_url=False)[0], source=source, place=place)


def limited(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return the first twenty problems, and a last one with the number of those that are omitted."""
    omitted = len(problems) - _MAX_PROBLEMS
    if omitted <= 0:
        return tuple(problems)
    return (*problems[:_MAX_PROBLEMS], Problem("problems-omitted", {"count": omitted}))


def problem_of(
    detail: ErrorDetails,
    *,
    source: str = "",
    place: str = "",
    codes: ProblemCodes = FIELD_CODES,
    known: Iterable[str] = (),
    group: str = "a mapping",
) -> Problem:
    """Return the problem of one rejected value.

    Parameters
    ----------
    source
        The document, such as the name of a file.
    place
        A place in it that comes before the place of the value.
    known
        The keys that are allowed where the value is.
    group
        The name of a mapping in this kind of document.
    """
    cause = detail.get("ctx", {}).get("error")
    where: dict[str, Any] = {"source": source, "place": ", ".join(filter(None, (place, key_path(detail["loc"]))))}
    if isinstance(cause, GesscaleError):
        return _located(cause.problem, where)
    if detail["type"] == "extra_forbidden":
        return Problem(codes.unknown, {**where, "nearest": nearest(str(detail["loc"][-1]), known)})
    if detail["type"] == "missing":
        return Problem(codes.required, where)
    rejected = detail.get("input")
    if isinstance(cause, Exception):
        is_whole = isinstance(rejected, Mapping | BaseModel)
        text = str(cause) if is_whole or ", got " in str(cause) else f"{cause}, got {truncated_repr(rejected)}"
        return Problem(codes.rejected, {**where, "text": text})
    return Problem(codes.invalid, {**where, "expected": expectation(detail, group), "got": cause or rejected})


def nearest(name: str, known: Iterable[str]) -> Sequence[str]:
    """Return the known name that is most similar to another one, or else all of them.

    Examples
    --------
    >>> nearest("gescale", ["gesscale", "static"]), nearest("x", ["gesscale", "static"])
    (['gesscale'], ['gesscale', 'static'])
    """
    names = sorted(known)
    return get_close_matches(name, names, n=1) or names


def located(problems: Iterable[Problem], place: str, source: str = "") -> tuple[Problem, ...]:
    """Return problems of a value with its place before their own."""
    return tuple(_located(each, {"place": place, "source": source}) for each in problems)


def _located(problem: Problem, where: Mapping[str, Any]) -> Problem:
    place = ", ".join(str(part) for part in (where["place"], problem.fields.get("place")) if part)
    source = where["source"] or problem.fields.get("source", "")
    return Problem(problem.code, {**problem.fields, "source": source, "place": place})


def expectation(detail: ErrorDetails, group: str = "a mapping") -> str:
    """Describe the expected value, without the rejected one.

    Parameters
    ----------
    group
        The name of a mapping in this kind of document.
    """
    if detail["type"] == "missing":
        return "a value"
    kind = _KINDS.get(detail["type"])
    if kind is not None:
        return group if kind == "a mapping" else kind
    text = re.sub(r" after validation, not .*$", "", detail["msg"])
    text = re.sub(r"^String should match pattern ", "text that matches ", text)
    return re.sub(r"^(Input should be|\w+ should have) |^Value error, ", "", text)
