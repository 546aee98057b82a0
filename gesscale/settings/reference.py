"""Generates the reference of all settings, from a schema without references."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from pydantic import BaseModel

from gesscale.fields import format_duration
from gesscale.settings.groups import Settings

_DROPPED = {"title", "$defs", "additionalProperties", "propertyNames", "anyOf", "$ref"}
_ORDER = {key: place for place, key in enumerate(("description", "type", "format", "default"))}
_NULL = {"type": "null"}
_EMPTY: tuple[Any, ...] = (None, "", (), [], {})

Schema = dict[str, Any]


def settings_page() -> str:
    """Return docs/reference/settings.md, with a row per setting."""
    return (files("gesscale.settings") / "page_head.md").read_text("utf-8") + "".join(
        f"| `{row.key}` | {row.kind} | {row.default} | {row.meaning} |\n" for row in schema_rows(plain_schema(Settings))
    )


def plain_schema(model: type[BaseModel]) -> Schema:
    """Return the JSON Schema of a model without references, titles, null and closed groups.

    Kubernetes supports this part of OpenAPI.
    """
    written = model.model_json_schema(by_alias=True, mode="serialization")
    return _plain(written, written.get("$defs", {}))


def _plain(written: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    if "$ref" in written:
        written = {**definitions[written["$ref"].rpartition("/")[2]], **written}
    options = [option for option in written.get("anyOf", ()) if option != _NULL]
    if len(options) == 1:
        rest = {key: item for key, item in written.items() if key != "anyOf"}
        return _plain({**options[0], **rest}, definitions)
    schema = {key: item for key, item in written.items() if key not in _DROPPED}
    schema["description"] = " ".join(schema.get("description", "").split())
    if options:  # a number or text
        schema["anyOf"] = options
    schema["default"] = _stated(schema.get("default"))
    if "items" in schema:
        schema["items"] = _plain(schema["items"], definitions)
    if isinstance(members := written.get("additionalProperties"), Mapping):
        schema["additionalProperties"] = _plain(members, definitions)
    if "properties" in schema:
        schema["properties"] = {name: _plain(member, definitions) for name, member in schema["properties"].items()}
    stated = ((key, item) for key, item in schema.items() if item not in _EMPTY)
    return dict(sorted(stated, key=lambda item: _ORDER.get(item[0], len(_ORDER))))


def _stated(default: Any) -> Any:
    """Return a default; of a group without empty values."""
    if not isinstance(default, Mapping):
        return default
    stated = {key: _stated(value) for key, value in default.items()}
    return {key: value for key, value in stated.items() if value not in _EMPTY}


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRow:
    """A member in Markdown: its path, type, default and meaning."""

    key: str
    kind: str
    default: str
    meaning: str


def schema_rows(schema: Schema, prefix: str = "", *, groups: bool = False) -> Iterator[SchemaRow]:
    """Yield the members of a schema and of its groups."""
    for name, member in schema["properties"].items():
        key, within, steps = f"{prefix}{name}", member, ""
        if "properties" in member.get("items", {}):
            within, steps = member["items"], "[]"
        elif "properties" in member.get("additionalProperties", {}):
            within, steps = member["additionalProperties"], ".NAME"
        is_group = "properties" in within
        if not is_group or (groups and "default" not in member):
            default = "required" if name in schema.get("required", ()) else _default(member)
            yield SchemaRow(key=key, kind=_kind(member), default=default, meaning=member.get("description", ""))
        if is_group:
            yield from schema_rows(within, f"{key}{steps}.", groups=groups)


def _kind(schema: Schema) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "x-kubernetes-int-or-string" in schema:
        return "quantity"
    if is_duration(schema):
        return "duration or `Never`" if "Never" in _rule(schema) else "duration"
    if schema["type"] == "array":
        return f"list of {_kind(schema['items'])}"
    if schema["type"] == "object":
        return "group" if "properties" in schema else "mapping"
    kind = str(schema.get("format", schema["type"]))
    return {"date-time": "instant", "string": "text"}.get(kind, kind)


def is_duration(schema: Mapping[str, Any]) -> bool:
    """Return whether a member is a duration: text with a unit, or in a settings file also a number."""
    text = next((each for each in schema.get("anyOf", ()) if each["type"] == "string"), schema)
    return "ms|" in text.get("pattern", "") or "duration(self)" in _rule(text)


def _rule(schema: Mapping[str, Any]) -> str:
    return "".join(each["rule"] for each in schema.get("x-kubernetes-validations", ()))


def _default(schema: Schema) -> str:
    default = schema.get("default", {})
    if default == {}:
        return "–"
    if isinstance(default, float) and is_duration(schema):
        default = format_duration(default)
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"
