"""YAML text, read strictly and within bounds: what JSON can say, every key once.

The only place that reads YAML. A first pass over the parser's events counts values and levels before anything is
built, and refuses aliases. Keys, dates and times are text.
"""

from pathlib import Path
from typing import Any

import yaml

from gesscale.common.errors import InputError, located
from gesscale.common.text import shortened

_PIECE_BYTES = 1 << 20
#: Most bytes of a file of YAML, and most characters of a text.
MAX_BYTES = 8 << 20

#: Most values of a document, its keys included: a thousand Kubernetes nodes need fewer.
MAX_VALUES = 200_000

#: Most levels of lists and mappings within each other.
MAX_DEPTH = 64

#: Most characters of a number.
_MAX_CHARACTERS = 64

_CORE = "tag:yaml.org,2002:"
_NUMBERS = {f"{_CORE}int", f"{_CORE}float"}
_TAGS = {None, "!", *_NUMBERS, *(f"{_CORE}{kind}" for kind in ("null", "bool", "str", "map", "seq"))}


def read_yaml(path: Path, source: str = "", *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a file of YAML; see `read_text` and `parse_yaml`."""
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

    Raises
    ------
    InputError
        In one line, with the place in the text: it is no YAML, says what JSON could not, holds an alias or a key
        twice in one mapping, or exceeds a limit.
    """
    if len(text) > MAX_BYTES:
        raise InputError(
            located(source, "", f"expected YAML of at most {MAX_BYTES} characters, got {len(text)}; shorten it")
        )
    try:
        _check(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader, made stricter
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
        problem = error.problem or str(error)
    except (yaml.YAMLError, ValueError, LookupError, ArithmeticError, AttributeError, TypeError) as error:
        place, problem = "", " ".join(str(error).split())  # such as the float of no digits
    raise InputError(located(source, place, f"expected YAML, got: {problem[:200]}; correct it"))


def _check(text: str) -> None:
    """Refuse what must not be built."""
    values = levels = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionEndEvent):
            levels -= 1
        if not isinstance(event, yaml.AliasEvent | yaml.ScalarEvent | yaml.CollectionStartEvent):
            continue
        values += 1
        if isinstance(event, yaml.AliasEvent):
            raise _refusal(f"the alias {shortened(str(event.anchor))}; repeat what it stands for", event)
        if event.tag not in _TAGS:
            raise _refusal(f"the tag {shortened(str(event.tag))}, which is not read", event)
        if isinstance(event, yaml.CollectionStartEvent):
            levels += 1
        if values > MAX_VALUES:
            raise _refusal(f"more than {MAX_VALUES} values", event)
        if levels > MAX_DEPTH:
            raise _refusal(f"more than {MAX_DEPTH} levels within each other", event)


_Base: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class _Loader(_Base):  # type: ignore[misc]
    """The safe loader, whose keys and dates are text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - of the base class
        letter: [(tag, pattern) for tag, pattern in rules if tag in _TAGS]
        for letter, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _refusal("a key that is no text", key)
            if key.value in mapping:
                raise _refusal(f"the key {shortened(key.value)} twice in one mapping", key)
            mapping[key.value] = self.construct_object(value, deep=deep)
        return mapping

    def construct_scalar(self, node: Any) -> Any:
        if node.tag in _NUMBERS and len(node.value) > _MAX_CHARACTERS:
            kind, found = node.tag.removeprefix(_CORE), len(node.value)
            raise _refusal(f"{kind} of {found} characters, where at most {_MAX_CHARACTERS} are expected", node)
        return super().construct_scalar(node)


def _refusal(problem: str, at: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)
