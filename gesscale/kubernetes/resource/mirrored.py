"""Parts of a resource that say just what a group of settings says, made from that group."""

from collections.abc import Collection
from pathlib import Path
from types import GenericAlias, NoneType
from typing import Any, TypeGuard, get_args, get_origin

from pydantic import Field, create_model

from gesscale.fields import SettingsGroup
from gesscale.kubernetes.resource.parts import ResourcePart, Span, like, rule_of

ITEMS_AT_MOST = 64
"""Items of a list within: the API server counts what its rules may cost at worst."""


def part_like(
    group: type[SettingsGroup], base: type[ResourcePart] = ResourcePart, without: Collection[str] = ()
) -> type[ResourcePart]:
    """Return the part with the fields, limits and defaults of a group of settings.

    Parameters
    ----------
    group
        Settings; files are left out, for a controller reads none.
    base
        What the part has besides them.
    without
        Names of fields that are left out.

    Returns
    -------
    type of Part
        Durations are such as ``5m``; groups within are parts as well. What members must keep towards each other is
        checked when the part becomes settings.
    """
    fields: dict[str, Any] = {
        name: _field(group, name)
        for name, field in group.model_fields.items()
        if name not in without and not _is_file(field.annotation)
    }
    made: type[ResourcePart] = create_model(
        f"{group.__name__.removesuffix('Settings')}Spec", __base__=base, __doc__=group.__doc__, **fields
    )
    made.RULES = (*base.RULES, *map(rule_of, group.CONDITIONS))
    return made


def _field(group: type[SettingsGroup], name: str) -> tuple[Any, Any]:
    annotation = group.model_fields[name].annotation
    if _is_group(annotation):
        # Absent by default, so that no resource shows the defaults of policies that it does not name.
        return part_like(annotation) | None, Field(None, description=group.model_fields[name].description)
    item = next(iter(get_args(annotation)), None)
    if get_origin(annotation) is tuple and _is_group(item):
        return GenericAlias(tuple, (part_like(item), ...)), like(group, name, max_length=ITEMS_AT_MOST)
    if name.endswith("_s"):
        return (Span | None if NoneType in get_args(annotation) else Span), like(group, name)
    return annotation, like(group, name)


def _is_group(annotation: object) -> TypeGuard[type[SettingsGroup]]:
    return isinstance(annotation, type) and issubclass(annotation, SettingsGroup)


def _is_file(annotation: object) -> bool:
    return annotation is Path or Path in get_args(annotation)
