"""Faults of rules in words."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from gesscale.words import first_of, place_of, problem_of, suggestion
from latency_map.errors import glimpse
from testbed.baselines.rules.model import Element, Factor, Guard, Rule, RuleSet, Trigger

_ELEMENTS: Mapping[object, type[Element]] = {"rules": Rule, "by": Factor, "when": Trigger, "unless": Guard}
"""What stands below a member."""


def faults_in_a_line(error: ValidationError, document: object = None) -> str:
    """Return every fault of a validation, in one line.

    Parameters
    ----------
    error
        What the validation raised.
    document
        What was validated, where it is a set of rules: its rules are then called by their names.
    """
    faults = error.errors(include_url=False)
    return "; ".join(first_of(_sentences(faults, document), len(faults)))


def _sentences(faults: Iterable[ErrorDetails], document: object) -> Iterator[str]:
    for fault in faults:
        if fault["type"] == "too_short" and fault["input"]:
            continue  # its items are at fault, and are named
        path = list(fault["loc"])
        place = ""
        if document is not None and path[:1] == ["rules"] and len(path) > 1:
            place = f"rule {_name(document, path[1])}: "
            path = path[2:]
        member = re.sub(r"\.(\d+)", r"[\1]", place_of(path))
        yield f"{place}{member}{': ' if member else ''}{_problem(fault)}"


def _name(document: Any, index: Any) -> str:
    try:
        return glimpse(document["rules"][index]["name"])
    except (KeyError, TypeError, IndexError):
        return f"number {int(index) + 1}"


def _problem(fault: ErrorDetails) -> str:
    if fault["type"] == "extra_forbidden":
        *above, wrong = fault["loc"]
        element = next((_ELEMENTS[key] for key in reversed(above) if key in _ELEMENTS), RuleSet)
        known = [field.alias or name for name, field in element.model_fields.items()]
        return f"there is no such member; {suggestion(str(wrong), known)}"
    return problem_of(fault, group="its members")
