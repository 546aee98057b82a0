"""YAML text, read strictly and within bounds: what JSON can say, every key once.

The only place that reads YAML. A first pass over the parser's events counts values, levels and what aliases stand
for, before anything is built. Keys, dates and times are text; an alias is a copy.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gesscale.common.errors import InputError, located
from gesscale.common.text import shortened

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
_NUMBERS = {f"{_CORE}int", f"{_CORE}float"}
_TAGS = {None, "!", *_NUMBERS, *(f"{_CORE}{kind}" for kind in ("null", "bool", "str", "map", "seq"))}


def read_yaml(path: Path, source: str = "", *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a file of YAML; see `read_text` and `parse_yaml`.

    Parameters
    ----------
    path
        The file, in UTF-8.
    source
        Names it in messages; by default its path does.
    max_bytes
        Most bytes that are read; more are refused.
    """
    return parse_yaml(read_text(path, source, max_bytes=max_bytes), source or str(path))


def read_text(path: Path, source: str = "", *, max_bytes: int = MAX_BYTES) -> str:
    """Read a text file of bounded size.

    Raises
    ------
    OSError
        It cannot be read.
    InputError
        It is larger, or not UTF-8.
    """
    content = bytearray()
    with path.open("rb") as file:  # piece by piece, as one read would take the limit at once
        while len(content) <= max_bytes and (piece := file.read(min(_PIECE_BYTES, max_bytes + 1))):
            content += piece
    problem = f"expected at most {max_bytes} bytes, got more; shorten it"
    try:
        if len(content) <= max_bytes:
            return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"expected text in UTF-8, got: {error}"
    raise InputError(located(source or str(path), "", problem))


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
    InputError
        In one line, with the place in the text: it is no YAML, says what JSON could not, holds a key twice in one
        mapping, or exceeds a limit.
    """
    if len(text) > MAX_BYTES:
        problem = f"expected YAML of at most {MAX_BYTES} characters, got {len(text)}; shorten it"
        raise InputError(located(source, "", problem))
    try:
        has_aliases = _Check(text).run()
        content = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader, made stricter
        return json.loads(json.dumps(content)) if has_aliases else content
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
        problem = error.problem or str(error)
    except (yaml.YAMLError, ValueError, LookupError, ArithmeticError, AttributeError, TypeError) as error:
        place, problem = "", " ".join(str(error).split())  # such as the float of no digits
    raise InputError(located(source, place, f"expected YAML, got: {problem[:200]}; correct it"))


_Base: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class _Loader(_Base):  # type: ignore[misc]
    """The safe loader, whose keys and dates are text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - of the base class
        letter: [(tag, pattern) for tag, pattern in rules if tag in _TAGS or tag == f"{_CORE}merge"]
        for letter, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
        self.flatten_mapping(node)
        return {key.value: self.construct_object(value, deep=deep) for key, value in node.value}


@dataclass(slots=True)
class _Group:
    """A list or mapping that is open, and what is known of it so far."""

    event: Any
    began: int
    keys: set[str] = field(default_factory=set)
    awaits_key: bool = False
    below: int = 0


class _Check:
    """Looks at the events of a text, and refuses what must not be built."""

    def __init__(self, text: str) -> None:
        self._events = yaml.parse(text, Loader=_Loader)
        self._resolver = yaml.SafeLoader("")
        self._open: list[_Group] = []
        self._sizes: dict[str, tuple[int, int]] = {}
        self._count = 0

    def run(self) -> bool:
        """Look at all of it; return whether there are aliases."""
        has_aliases, documents = False, 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _refusal("a second document, where one is expected", event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._close()
            elif isinstance(event, yaml.NodeEvent):
                has_aliases = has_aliases or isinstance(event, yaml.AliasEvent)
                self._value(event)
        return has_aliases

    def _value(self, event: Any) -> None:
        count, levels = 1, 0
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._sizes:
                raise _refusal(
                    f"the alias {shortened(str(event.anchor))} before the end of what it stands for", event
                )
            count, levels = self._sizes[event.anchor]
        elif event.tag not in _TAGS:
            raise _refusal(f"the tag {shortened(str(event.tag))}, which is not read", event)
        self._take_key(event)
        self._count += count
        if self._count > MAX_VALUES:
            raise _refusal(f"more than {MAX_VALUES} values, aliases included", event)
        if isinstance(event, yaml.CollectionStartEvent):
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            self._open.append(_Group(event, self._count, awaits_key=is_mapping))
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        if self._open:
            self._open[-1].below = max(self._open[-1].below, levels)
        if len(self._open) + levels > MAX_DEPTH:
            raise _refusal(f"more than {MAX_DEPTH} levels within each other", event)

    def _close(self) -> None:
        group = self._open.pop()
        levels = group.below + 1
        if group.event.anchor is not None:
            self._sizes[group.event.anchor] = self._count - group.began + 1, levels
        if self._open:
            self._open[-1].below = max(self._open[-1].below, levels)

    def _take_key(self, event: Any) -> None:
        """Take a value for a key where one is due in the innermost mapping."""
        if not self._open or not isinstance(self._open[-1].event, yaml.MappingStartEvent):
            return
        mapping = self._open[-1]
        if mapping.awaits_key:
            if not isinstance(event, yaml.ScalarEvent):
                raise _refusal("a key that is no text", event)
            if event.value in mapping.keys:
                raise _refusal(f"the key {shortened(event.value)} twice in one mapping", event)
            mapping.keys.add(event.value)
        mapping.awaits_key = not mapping.awaits_key

    def _scalar(self, event: Any) -> None:
        if event.anchor is not None:
            self._sizes[event.anchor] = 1, 0
        tag = event.tag
        if tag in {None, "!"}:
            tag = self._resolver.resolve(yaml.ScalarNode, event.value, event.implicit)  # type: ignore[no-untyped-call]
        if tag in _NUMBERS and len(event.value) > _MAX_CHARACTERS:
            kind, most = tag.removeprefix(_CORE), _MAX_CHARACTERS
            raise _refusal(
                f"{kind} of {len(event.value)} characters, where at most {most} are expected", event
            )


def _refusal(problem: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
