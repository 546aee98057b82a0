"""YAML text, read strictly and within bounds: what JSON can say, every key once.

The only place that reads YAML. Values are made while the text is parsed, so each limit holds before memory is taken.
Keys, dates and times are text; an alias is a copy.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from latency_map.errors import error_at, glimpse, shortened

_PIECE_BYTES = 1 << 20
MAX_BYTES = 8 << 20
"""Most bytes of a file of YAML, and most characters of a text."""

MAX_VALUES = 200_000
"""Most values of a document, its keys and what aliases stand for included: a thousand Kubernetes nodes need fewer."""

MAX_DEPTH = 64
"""Most levels of lists and mappings within each other."""

_MAX_CHARACTERS = 64
"""Most characters of a number."""

_CORE = "tag:yaml.org,2002:"
_TEXT = f"{_CORE}str"
_SCALARS = {_TEXT, *(f"{_CORE}{kind}" for kind in ("null", "bool", "int", "float"))}
_GROUPS = {None, "!", f"{_CORE}map", f"{_CORE}seq"}
_MERGE = "<<"
_Loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


def read_yaml(path: Path, source: str = "", *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a file of YAML.

    Parameters
    ----------
    path
        The file, in UTF-8.
    source
        Names it in messages; by default its path does.
    max_bytes
        Most bytes that are read; more are refused.

    Returns
    -------
    object
        See `parse_yaml`.

    Raises
    ------
    OSError
        It cannot be read.
    LatencyMapError
        As `parse_yaml`, and where it is not UTF-8.
    """
    return parse_yaml(read_text(path, source, max_bytes=max_bytes), source or str(path))


def read_text(path: Path, source: str = "", *, max_bytes: int = MAX_BYTES) -> str:
    """Read a text file of bounded size.

    Raises
    ------
    OSError
        It cannot be read.
    LatencyMapError
        It is larger, or not UTF-8.
    """
    content, left = bytearray(), max_bytes + 1
    with path.open("rb") as file:
        while left > 0 and (
            piece := file.read(min(left, _PIECE_BYTES))
        ):  # one read would take the limit at once
            content += piece
            left -= len(piece)
    if left <= 0:
        raise error_at(source or str(path), "", f"expected at most {max_bytes} bytes, got more; shorten it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise error_at(source or str(path), "", f"expected text in UTF-8, got: {error}") from None


def parse_yaml(text: str, source: str) -> Any:
    """Read YAML.

    Parameters
    ----------
    text
        One document, or none.
    source
        Names it in messages.

    Returns
    -------
    object
        Of dict with keys of text, list, str, int, float, bool and None; None for no document.

    Raises
    ------
    LatencyMapError
        In one line, with the place in the text: it is no YAML, says what JSON could not, holds a key twice in one
        mapping, or exceeds a limit.
    """
    if len(text) > MAX_BYTES:
        raise error_at(
            source, "", f"expected YAML of at most {MAX_BYTES} characters, got {len(text)}; shorten it"
        )
    try:
        return _Document(text).content()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
        problem = error.problem or str(error)
    except (yaml.YAMLError, UnicodeError, RecursionError) as error:
        place, problem = "", " ".join(str(error).split())
    raise error_at(source, place, f"expected YAML, got: {problem}; correct it")


@dataclass(frozen=True, slots=True)
class _Anchored:
    """A value that aliases stand for, how many values it is and how many levels are below it."""

    value: Any
    count: int
    levels: int


class _Document:
    """Makes the values of one document out of the events of its parser."""

    def __init__(self, text: str) -> None:
        self._events: Iterator[Any] = yaml.parse(text, Loader=_Loader)
        self._plain = yaml.SafeLoader("")
        self._anchored: dict[str, _Anchored] = {}
        self._count = self._depth = self._deepest = 0

    def content(self) -> Any:
        next(self._events)  # the stream begins
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        content = self._value(next(self._events))
        next(self._events)  # the document ends
        event = next(self._events)
        if not isinstance(event, yaml.StreamEndEvent):
            raise _refusal("a second document, where one is expected", event)
        return content

    def _value(self, event: Any) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return self._copy(event)
        count, deepest = self._count, self._deepest
        self._deepest = self._depth
        self._take(event)
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        elif event.tag not in _GROUPS:
            raise _refusal(f"the tag {shortened(event.tag)}, which is not read", event)
        else:
            self._depth += 1
            value = self._list() if isinstance(event, yaml.SequenceStartEvent) else self._mapping()
            self._depth -= 1
        if event.anchor is not None:
            levels = self._deepest - self._depth
            self._anchored[event.anchor] = _Anchored(value, self._count - count, levels)
        self._deepest = max(self._deepest, deepest)
        return value

    def _copy(self, event: Any) -> Any:
        found = self._anchored.get(event.anchor)
        if found is None:
            raise _refusal(f"the alias {shortened(event.anchor)} before the end of what it stands for", event)
        self._take(event, found.count, found.levels)
        return deepcopy(found.value)

    def _take(self, event: Any, count: int = 1, levels: int = 0) -> None:
        """Count values, before there is room for them."""
        self._count += count
        self._deepest = max(self._deepest, self._depth + levels)
        if self._count > MAX_VALUES:
            raise _refusal(f"more than {MAX_VALUES} values, aliases included", event)
        if self._deepest > MAX_DEPTH:
            raise _refusal(f"more than {MAX_DEPTH} levels within each other", event)

    def _list(self) -> list[Any]:
        values = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            values.append(self._value(event))
        return values

    def _mapping(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        merged: list[Any] = []
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._value(event)
            if isinstance(event, yaml.ScalarEvent):
                key = event.value
            value = self._value(next(self._events))
            if not isinstance(key, str):
                raise _refusal(f"the key {glimpse(key)}, where text is expected", event)
            is_merge = key == _MERGE and isinstance(event, yaml.ScalarEvent) and event.implicit[0]
            if key in values or (is_merge and merged):
                raise _refusal(f"the key {shortened(key)} twice in one mapping", event)
            if is_merge:
                merged += value if isinstance(value, list) else [value]
            else:
                values[key] = value
            if not all(isinstance(each, dict) for each in merged):
                raise _refusal(f"{glimpse(value)} behind <<, where mappings are expected", event)
        for each in merged:
            for key, value in each.items():
                values.setdefault(key, value)
        return values

    def _scalar(self, event: Any) -> Any:
        text, tag = event.value, event.tag
        if tag in {None, "!"}:
            tag = self._plain.resolve(yaml.ScalarNode, text, event.implicit)  # type: ignore[no-untyped-call]  # untyped there
            tag = tag if tag in _SCALARS else _TEXT  # such as a date
        if tag not in _SCALARS:
            raise _refusal(f"the tag {shortened(tag)}, which is not read", event)
        if tag == _TEXT:
            return text
        kind = tag.removeprefix(_CORE)
        if len(text) > _MAX_CHARACTERS:
            raise _refusal(
                f"{kind} of {len(text)} characters, where at most {_MAX_CHARACTERS} are expected", event
            )
        try:
            return self._plain.construct_object(yaml.ScalarNode(tag, text))
        except (yaml.YAMLError, ValueError, LookupError, ArithmeticError, AttributeError, TypeError):
            raise _refusal(f"{shortened(text)}, which is no {kind}", event) from None


def _refusal(problem: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
