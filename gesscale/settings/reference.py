"""The page of all settings, written from the settings themselves."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gesscale.fields import description_of, format_duration, model_within
from gesscale.settings.groups import Settings

_HEAD = """\
# Settings

Written by `gesscale config docs > docs/reference/settings.md`; change the descriptions in `gesscale/settings/`.

An option (`--set monitor.period=30s`) wins over the environment (`GESSCALE_MONITOR__PERIOD=30s`), that
over the YAML file, that over the default. A duration is a number of seconds or a number with a unit:
`250ms`, `30s`, `5m`, `1h`, `7d`; from `1ms` to `3650d`. YAML is read strictly: every key once, no tags, no date but as
text, at most 8 MiB, 200,000 values with those of aliases, 64 levels. `gesscale config validate FILE` checks a file,
`gesscale config schema` prints its JSON Schema.

| Setting | Type | Default | Meaning, and why this default |
|---|---|---|---|
"""


def settings_page() -> str:
    """Return the page as Markdown: one row per setting.

    Returns
    -------
    str
        What docs/reference/settings.md holds; a test compares the two.
    """
    return _HEAD + "".join(
        f"| `{row.key}` | {row.kind} | {row.default} | {row.meaning} |\n" for row in setting_rows(Settings)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """A setting as the page shows it, in Markdown.

    Attributes
    ----------
    key
        Where it is in a settings file.
    kind, default
        What it takes, and what holds without it.
    meaning
        What it is, and why its default.
    """

    key: str
    kind: str
    default: str
    meaning: str


def setting_rows(
    group: type[BaseModel], prefix: str = "", only: Collection[str] | None = None
) -> Iterator[SettingRow]:
    """Yield the settings of a group, those of groups within in their place.

    Parameters
    ----------
    group
        Of settings.
    prefix
        Where it is in a settings file, with a dot at its end.
    only
        Names in code of those that are wanted; None for all.
    """
    for name, field in group.model_fields.items():
        if only is not None and name not in only:
            continue
        key = f"{prefix}{field.alias or name}"
        if (inner := model_within(field.annotation)) is not None:
            origin = get_origin(field.annotation)
            member = ".NAME" if origin is Mapping else "[]" if origin is tuple else ""
            yield from setting_rows(inner, f"{key}{member}.")
        else:
            is_duration = name.endswith("_s")
            yield SettingRow(
                key=key,
                kind="duration" if is_duration else _kind(field.annotation),
                default=_default(field, is_duration),
                meaning=description_of(field),
            )


def _kind(annotation: Any) -> str:  # noqa: PLR0911 - one return for each kind of annotation
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in {Union, UnionType}:
        return " or ".join(_kind(arg) for arg in args if arg is not NoneType)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in args)
    if origin is tuple:
        return f"list of {_kind(args[0])}"
    if origin is Mapping:
        return "mapping"
    if origin is Annotated:
        return _kind(args[0])
    if issubclass(annotation, Enum):
        return ", ".join(f"`{member.value}`" for member in annotation)
    return {str: "text", int: "integer", float: "number", bool: "boolean", Path: "path"}[annotation]


def _default(field: FieldInfo, is_duration: bool) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value is None or value in ((), {}, ""):
        return "–"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"  # as YAML has it
    if is_duration:
        value = format_duration(value)
    return f"`{value.value if isinstance(value, Enum) else value}`"
