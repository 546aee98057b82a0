"""What a structural schema says of a document, without its rules in CEL: a small reading of its own for tests."""

import re
from datetime import datetime

_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}


def faults(schema, value, path="$"):
    """Yield what is wrong, as the API server would judge it after dropping null and unknown members."""
    if schema.get("x-kubernetes-int-or-string"):
        if isinstance(value, bool) or not isinstance(value, int | str):
            yield f"{path}: no integer or string"
            return
    elif isinstance(value, bool) != (schema["type"] == "boolean") or not isinstance(
        value, _TYPES[schema["type"]]
    ):
        yield f"{path}: not of type {schema['type']}"
        return
    if value not in schema.get("enum", [value]):
        yield f"{path}: not in the enumeration"
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number_faults(schema, value, path)
    if isinstance(value, str):
        yield from _text_faults(schema, value, path)
    if isinstance(value, list):
        yield from _list_faults(schema, value, path)
    if isinstance(value, dict):
        yield from _object_faults(schema, value, path)


def _number_faults(schema, value, path):
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    if value < low or (schema.get("exclusiveMinimum") and value == low):
        yield f"{path}: too small"
    if value > high or (schema.get("exclusiveMaximum") and value == high):
        yield f"{path}: too large"


def _text_faults(schema, value, path):
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        yield f"{path}: of a wrong length"
    if not re.search(schema.get("pattern", ""), value):
        yield f"{path}: not of the pattern"
    if schema.get("format") == "date-time":
        try:
            datetime.fromisoformat(value)
        except ValueError:
            yield f"{path}: no instant"


def _list_faults(schema, value, path):
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        yield f"{path}: too many or too few"
    if schema.get("x-kubernetes-list-type") == "set" and len({*map(repr, value)}) < len(value):
        yield f"{path}: one twice"
    for index, item in enumerate(value):
        yield from faults(schema["items"], item, f"{path}[{index}]")


def _object_faults(schema, value, path):
    if len(value) > schema.get("maxProperties", len(value)):
        yield f"{path}: too many members"
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}.{name}: missing"
    for name, item in value.items():
        member = schema.get("additionalProperties") or schema.get("properties", {}).get(name)
        if member is not None and item is not None:
            yield from faults(member, item, f"{path}.{name}")


def nodes(schema, path="$"):
    """Yield every schema within a schema, with its path."""
    yield path, schema
    for name, member in schema.get("properties", {}).items():
        yield from nodes(member, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from nodes(schema[key], f"{path}.{key}")
