"""Converts values of the model to documents for JSON and YAML, and back."""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeVar

from pydantic import TypeAdapter

from gesscale.model.decision import Decision

T = TypeVar("T")
_CODECS: dict[type[Any], TypeAdapter[Any]] = {}


def codec(kind: type[T]) -> TypeAdapter[T]:
    """Return the codec of a type for JSON; it is created on first use."""
    if kind not in _CODECS:
        _CODECS[kind] = TypeAdapter(kind)
    return _CODECS[kind]


def json_of(value: object) -> str:
    """Return a value of the model as JSON; non-finite numbers become null."""
    return codec(type(value)).dump_json(value, warnings="none", fallback=as_document).decode()


def decision_document(decision: Decision) -> dict[str, Any]:
    """Return a decision with all its figures and the rejected candidates.

    It has a few kilobytes: of the batches of the reading only their number is kept.
    """
    document: dict[str, Any] = json.loads(json_of(decision))
    return document


def as_document(value: object) -> Any:  # noqa: PLR0911 - one return for each kind of value
    """Convert values to those of JSON.

    Parameters
    ----------
    value
        Dataclasses, enums, mappings, sequences, sets, numbers, strings or None, at any depth.

    Returns
    -------
    object
        The same with dicts, lists, strings and finite numbers only; NaN and infinities become None.

    Examples
    --------
    >>> as_document({"mst": float("nan"), "nodes": ("a", "b")})
    {'mst': None, 'nodes': ['a', 'b']}
    """
    match value:
        case Enum():
            return value.value
        case float():
            return float(value) if math.isfinite(value) else None
        case None | bool() | int():
            return value
        case str():
            return str(value)
        case Mapping():
            return {str(key): as_document(item) for key, item in value.items()}
        case set() | frozenset():
            return sorted(as_document(item) for item in value)
        case Iterable():
            return [as_document(item) for item in value]
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {field.name: as_document(getattr(value, field.name)) for field in fields}
    if hasattr(value, "item"):  # a NumPy scalar
        return as_document(value.item())
    return str(value)
