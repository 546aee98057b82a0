"""Converts values of the model to documents for JSON and YAML, and back."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

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


def as_document(value: object) -> Any:
    """Convert values to those of JSON.

    Parameters
    ----------
    value
        Dataclasses, enums, mappings, sequences, numbers, strings or None, at any depth.

    Returns
    -------
    object
        The same with dicts, lists, strings and finite numbers only; NaN and infinities become None.

    Examples
    --------
    >>> as_document({"mst": float("nan"), "nodes": ("a", "b")})
    {'mst': None, 'nodes': ['a', 'b']}
    """
    return to_jsonable_python(value, inf_nan_mode="null", fallback=_built_in)


def _built_in(value: Any) -> Any:
    """Return a value that Pydantic does not know as one of Python's own types."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):  # of NumPy
        return value.tolist()
    return list(value) if isinstance(value, Iterable) else str(value)
