"""What a structural schema says of a document, without its rules in CEL."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from jsonschema import Draft4Validator, FormatChecker

FORMATS = FormatChecker(formats=())


@FORMATS.checks("date-time", raises=ValueError)
def _is_instant(value: object) -> bool:
    return not isinstance(value, str) or bool(datetime.fromisoformat(value))


def faults(schema: Any, value: Any) -> Iterator[str]:
    """Yield what is wrong, as the API server would judge it after dropping null and unknown members."""
    for fault in Draft4Validator(_plain(schema), format_checker=FORMATS).iter_errors(_without_null(value)):
        yield f"{fault.json_path}: {fault.message}"


def _plain(schema: Any) -> Any:
    """Return the schema with what Kubernetes adds to JSON Schema in words of the latter."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {name: _plain(each) for name, each in schema.items()}
    if plain.pop("x-kubernetes-int-or-string", False) is True:
        plain["type"] = ["integer", "string"]
    if plain.pop("x-kubernetes-list-type", "") == "set":
        plain["uniqueItems"] = True
    return plain


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_null(each) for name, each in value.items() if each is not None}
    return [_without_null(each) for each in value] if isinstance(value, list | tuple) else value


def nodes(schema: Any, path: str = "$") -> Iterator[tuple[str, Any]]:
    """Yield every schema within a schema, with its path."""
    yield path, schema
    for name, member in schema.get("properties", {}).items():
        yield from nodes(member, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key], f"{path}.{key}")
