"""Problems of settings, each with the source it came from: a file, the environment or an option."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gesscale.common.errors import Problem
from gesscale.fields import model_within
from gesscale.settings.groups import Settings
from gesscale.validation import SETTING_CODES, limited, problem_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsSource:
    """Settings from one place, as nested mappings."""

    name: str
    document: Mapping[str, Any]


def setting_problems(
    error: ValidationError, sources: Sequence[SettingsSource] = (), root: type[BaseModel] = Settings
) -> tuple[Problem, ...]:
    """Return a problem for each rejected setting, with its source; the first twenty of many."""
    details = error.errors(include_url=False)
    problems = []
    for detail in details:
        if detail["type"] == "too_short" and _follows(detail, details):
            continue
        path = [str(part) for part in detail["loc"]]
        origin = next((source.name for source in sources if path and _has_key(source.document, path)), "")
        known = _known_keys(root, path[:-1]) if detail["type"] == "extra_forbidden" else ()
        problems.append(
            problem_of(detail, source=origin, codes=SETTING_CODES, known=known, group="a group of settings")
        )
    return limited(problems)


def _follows(too_short: ErrorDetails, details: Sequence[ErrorDetails]) -> bool:
    """Return whether a list counts as too short only because its items are rejected."""
    loc = too_short["loc"]
    return any(len(each["loc"]) > len(loc) and each["loc"][: len(loc)] == loc for each in details)


def _known_keys(root: type[BaseModel], path: Sequence[str]) -> Collection[str]:
    group = root
    parts = iter(path)
    for part in parts:
        field = next(item for name, item in group.model_fields.items() if part in {name, item.alias})
        group = model_within(field.annotation) or group
        if get_origin(field.annotation) in {Mapping, dict, tuple}:
            next(parts, None)  # the name or number of a member, such as an operator's
    return [field.alias or name for name, field in group.model_fields.items()]


def _has_key(document: object, path: Sequence[str]) -> bool:
    for part in path:
        if not isinstance(document, Mapping) or part not in document:
            return False
        document = document[part]
    return True
