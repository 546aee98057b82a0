"""Strict JSON parser: each key once, no NaN, limited depth."""

import json
from collections import Counter
from typing import Never, TypeAlias

from gesscale.common.text import shortened
from latency_map.errors import LatencyMapError

_BLANKS = " \t\r\n"
Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


def parse_json(text: str, source: str) -> Json:
    """Parse JSON, or several texts of it one after the other, as one on each line, which become a list.

    Raises
    ------
    LatencyMapError
        The text is not JSON, has a key twice in one object, or NaN or infinity as a number, or is nested too deeply.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_refuse_duplicates, parse_constant=_refuse_constant)
    found: list[Json] = []
    rest = text.strip(_BLANKS)
    at = 0
    try:
        while at < len(rest) or not found:
            content, at = decoder.raw_decode(rest, at)
            found.append(content)
            while rest[at : at + 1] in _BLANKS and at < len(rest):
                at += 1
    except RecursionError:
        raise LatencyMapError("json-too-deep", source=source) from None
    except LatencyMapError as error:
        raise LatencyMapError(error.code, source=source, **error.fields) from None
    except ValueError as error:
        raise LatencyMapError("json-invalid", source=source, cause=str(error)) from None
    return found[0] if len(found) == 1 else found


def at(content: Json, *keys: str) -> Json:
    """Return the value that keys lead to; None if there is none."""
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def listed(content: Json, *keys: str) -> list[Json]:
    """Return the list that keys lead to; an empty one if there is none."""
    found = at(content, *keys)
    return found if isinstance(found, list) else []


def members(content: Json, *keys: str) -> dict[str, Json]:
    """Return the object that keys lead to; an empty one if there is none."""
    found = at(content, *keys)
    return found if isinstance(found, dict) else {}


def kind_of(content: Json) -> str:
    """Describe a JSON value for a message."""
    if content is None or isinstance(content, bool | int | float):
        text = "null" if content is None else str(content).lower()
        return text if len(text) <= 40 else text[:37] + "..."
    if isinstance(content, str):
        return shortened(content)
    return f"an object of {len(content)} keys" if isinstance(content, dict) else f"a list of {len(content)}"


def _refuse_duplicates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    content = dict(pairs)
    if len(content) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise LatencyMapError("json-key-duplicate", key=twice)
    return content


def _refuse_constant(name: str) -> Never:
    raise LatencyMapError("json-constant-refused", got=name)
