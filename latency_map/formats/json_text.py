"""JSON, read strictly: every key once, no NaN, no nesting without end."""

import json
from collections import Counter
from typing import Never, TypeAlias

from gesscale.common.text import shortened
from latency_map.errors import error_at

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


def parse_json(text: str, source: str) -> Json:
    """Read JSON.

    Raises
    ------
    LatencyMapError
        It is no JSON, holds a key twice in one object, or NaN or infinity as a number, or is nested too deeply.
    """
    try:
        content: Json = json.loads(text, object_pairs_hook=_every_key_once, parse_constant=_refuse_constant)
    except RecursionError:
        problem = "nesting of thousands of levels"
    except ValueError as error:
        problem = str(error)
    else:
        return content
    raise error_at(source, "", f"expected JSON, got: {problem}; correct it")


def kind_of(content: Json) -> str:
    """Say what a piece of JSON is, for messages."""
    if content is None or isinstance(content, bool | int | float):
        text = "null" if content is None else str(content).lower()
        return text if len(text) <= 40 else text[:37] + "..."
    if isinstance(content, str):
        return shortened(content)
    return f"an object of {len(content)} keys" if isinstance(content, dict) else f"a list of {len(content)}"


def as_number(content: Json) -> float | None:
    """Return a number as float; None where it is none, or too large for one."""
    if isinstance(content, bool) or not isinstance(content, int | float):
        return None
    try:
        return float(content)
    except OverflowError:
        return None


def _every_key_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    content = dict(pairs)
    if len(content) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {shortened(twice)} twice in one object")
    return content


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} where a number or null is expected")
