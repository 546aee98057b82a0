"""Groups of an object as its JSON says it, such as its metadata; whatever stands in their place."""

from collections.abc import Mapping, Sequence
from typing import Any


def group_of(document: object, name: str) -> Mapping[str, Any]:
    """Return a group of an object; empty where there is none, or something else.

    Parameters
    ----------
    document
        The object as JSON.
    name
        Such as ``metadata``, ``spec`` or ``status``.

    Examples
    --------
    >>> group_of({"metadata": {"name": "clean"}}, "metadata"), group_of({"status": "lost"}, "status"), group_of([], "x")
    ({'name': 'clean'}, {}, {})
    """
    group = document.get(name) if isinstance(document, Mapping) else None
    return group if isinstance(group, Mapping) else {}


def text_of(group: Mapping[str, Any], name: str, otherwise: str = "") -> str:
    """Return a text of a group; the other one where there is none."""
    text = group.get(name)
    return text if isinstance(text, str) and text else otherwise


def entries_of(group: Mapping[str, Any], name: str) -> Sequence[Any]:
    """Return a list of a group; empty where there is none, or something else."""
    entries = group.get(name)
    return entries if isinstance(entries, list) else ()
