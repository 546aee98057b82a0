"""Strict YAML parser with size limits: only what JSON can express, each key once.

This is the only module that reads YAML. A first pass over the parser's events counts values and levels, and rejects
aliases, before any value is built. Keys, dates and times are text.
"""

from pathlib import Path
from typing import Any

import yaml

from gesscale.common.errors import InputError

_CHUNK_BYTES = 1 << 20
#: Largest size of a YAML file in bytes, and of a text in characters.
MAX_BYTES = 8 << 20

#: Largest number of values of a document, keys included; a list of a thousand Kubernetes nodes has fewer.
MAX_VALUES = 200_000

#: Largest depth of nested lists and mappings.
MAX_DEPTH = 64

#: Largest length of a number.
_MAX_CHARACTERS = 64
_MAX_CAUSE_CHARACTERS = 200

_CORE = "tag:yaml.org,2002:"
_NUMBERS = {f"{_CORE}int", f"{_CORE}float"}
_TAGS = {None, "!", *_NUMBERS, *(f"{_CORE}{kind}" for kind in ("null", "bool", "str", "map", "seq"))}


def read_yaml(path: Path, source: str = "", *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a YAML file; see `read_text` and `parse_yaml`."""
    return parse_yaml(read_text(path, source, max_bytes=max_bytes), source or str(path))


def read_text(path: Path, source: str = "", *, max_bytes: int = MAX_BYTES) -> str:
    """Read a text file of limited size.

    Raises
    ------
    OSError
        The file cannot be read.
    InputError
        The file is too large or not UTF-8.
    """
    content = bytearray()
    with path.open("rb") as file:  # in chunks: one read would allocate the limit at once
        while len(content) <= max_bytes and (chunk := file.read(min(_CHUNK_BYTES, max_bytes + 1))):
            content += chunk
    name = source or str(path)
    if len(content) > max_bytes:
        raise InputError("file-too-large", source=name, max_bytes=max_bytes)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("file-not-utf8", source=name, cause=str(error)) from None


def parse_yaml(text: str, source: str) -> Any:
    """Parse YAML.

    Raises
    ------
    InputError
        The text is not YAML, uses more than JSON can express, has an alias or a key twice in one mapping, or exceeds
        a limit. The error has the place in the text.
    """
    if len(text) > MAX_BYTES:
        raise InputError("yaml-too-large", source=source, limit=MAX_BYTES, counted="characters")
    try:
        _check(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader, made stricter
    except _Rejected as error:
        raise InputError(error.code, source=source, place=_place(error), **error.fields) from None
    except yaml.MarkedYAMLError as error:
        cause = (error.problem or str(error))[:_MAX_CAUSE_CHARACTERS]
        raise InputError("yaml-invalid", source=source, place=_place(error), cause=cause) from None
    except (yaml.YAMLError, ValueError, LookupError, ArithmeticError, AttributeError, TypeError) as error:
        cause = " ".join(str(error).split())[:_MAX_CAUSE_CHARACTERS]  # for example a float without digits
        raise InputError("yaml-invalid", source=source, cause=cause) from None


class _Rejected(yaml.MarkedYAMLError):
    """Valid YAML that this module does not accept."""

    def __init__(self, code: str, event: Any, **fields: object) -> None:
        super().__init__(problem=code, problem_mark=event.start_mark)
        self.code, self.fields = code, fields


def _place(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark
    return "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"


def _check(text: str) -> None:
    """Reject aliases, tags and sizes before any value is built."""
    values = depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if not isinstance(event, yaml.AliasEvent | yaml.ScalarEvent | yaml.CollectionStartEvent):
            continue
        values += 1
        if isinstance(event, yaml.AliasEvent):
            raise _Rejected("yaml-alias-refused", event, alias=str(event.anchor))
        if event.tag not in _TAGS:
            raise _Rejected("yaml-tag-refused", event, tag=str(event.tag))
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        if values > MAX_VALUES:
            raise _Rejected("yaml-too-large", event, limit=MAX_VALUES, counted="values")
        if depth > MAX_DEPTH:
            raise _Rejected("yaml-too-deep", event, limit=MAX_DEPTH)


_Base: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class _Loader(_Base):  # type: ignore[misc]
    """Safe loader that reads keys and dates as text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as in the base class
        letter: [(tag, pattern) for tag, pattern in rules if tag in _TAGS]
        for letter, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _Rejected("yaml-key-invalid", key)
            if key.value in mapping:
                raise _Rejected("yaml-key-duplicate", key, key=key.value)
            mapping[key.value] = self.construct_object(value, deep=deep)
        return mapping

    def construct_scalar(self, node: Any) -> Any:
        if node.tag in _NUMBERS and len(node.value) > _MAX_CHARACTERS:
            raise _Rejected("yaml-number-oversized", node, length=len(node.value), limit=_MAX_CHARACTERS)
        return super().construct_scalar(node)
