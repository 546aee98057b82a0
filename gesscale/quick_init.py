"""Frozen dataclasses that are made in a fourth of the time: the loop and the simulator make very many values."""

from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

_Value = TypeVar("_Value")


def quick_init(kind: type[_Value]) -> type[_Value]:
    """Let a frozen dataclass with slots set its fields by their slots; nothing else of it changes.

    The ``__init__`` of `dataclasses` calls ``object.__setattr__`` for each field of a frozen class, which looks the
    field up by its name: 3.2 us for a batch of 14 fields. The setters of the slots themselves take 0.8 us.

    Parameters
    ----------
    kind
        Each of its fields is an argument by keyword.

    Returns
    -------
    type
        The same class.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @quick_init
    ... @dataclass(frozen=True, slots=True, kw_only=True)
    ... class Pair:
    ...     one: int
    ...     other: int = 2
    >>> Pair(one=1)
    Pair(one=1, other=2)
    """
    listed = fields(kind)  # type: ignore[arg-type] # a dataclass
    known: dict[str, Any] = {}
    lines = [f"def __init__(self, *, {', '.join(_argument(each, known) for each in listed)}):"]
    for each in listed:
        known[f"set_{each.name}"] = getattr(kind, each.name).__set__
        value = each.name
        if each.default_factory is not MISSING:
            known[f"make_{each.name}"] = each.default_factory
            value = f"make_{each.name}() if {each.name} is MISSING else {each.name}"
        lines.append(f"    set_{each.name}(self, {value})")
    if hasattr(kind, "__post_init__"):
        lines.append("    self.__post_init__()")
    made: dict[str, Any] = {}
    exec("\n".join(lines), {"MISSING": MISSING, **known}, made)  # noqa: S102 - from the names of fields alone
    made["__init__"].__qualname__ = f"{kind.__qualname__}.__init__"
    made["__init__"].__annotations__ = kind.__init__.__annotations__
    kind.__init__ = made["__init__"]  # type: ignore[method-assign]
    return kind


def _argument(field: Field[Any], known: dict[str, Any]) -> str:
    if field.default is not MISSING:
        known[f"usual_{field.name}"] = field.default
        return f"{field.name}=usual_{field.name}"
    return field.name if field.default_factory is MISSING else f"{field.name}=MISSING"
