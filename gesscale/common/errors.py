"""Errors that the project raises on purpose: each has a code, fields, and a sentence from a catalogue.

A catalogue is a package's ``errors.toml``: for each code the sentence, what it means, and what to do about it.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from string import Formatter
from typing import Any

from gesscale.common.text import format_list, truncated_repr

_PACKAGES = ("gesscale", "latency_map", "perfmodel", "testbed")
_MAX_PLACE_CHARACTERS = 600


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One code of a catalogue."""

    code: str
    #: The package whose catalogue has it.
    package: str
    #: Template of the sentence, with the names of fields in braces.
    message: str
    #: When it occurs.
    meaning: str
    #: The remedy.
    action: str


@cache
def catalogue() -> Mapping[str, CatalogueEntry]:
    """Read the entries of all installed packages, by code; import none of them, as a driver lacks what they need."""
    specs = {package: find_spec(package) for package in _PACKAGES}
    return {
        code: CatalogueEntry(code, package, **entry)
        for package, spec in specs.items()
        if spec is not None and spec.submodule_search_locations
        for code, entry in tomllib.loads(
            (Path(spec.submodule_search_locations[0]) / "errors.toml").read_text("utf-8")
        ).items()
    }


@dataclass(frozen=True, slots=True)
class Problem:
    """A refusal, an error or a warning: a code and the figures that belong to it.

    The fields ``source`` (a file, an address, an object) and ``place`` (a line, a key) begin the sentence. A plug-in
    may use a code of no catalogue; its field ``text`` is then the sentence.
    """

    code: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the sentence on one line: the place and the filled template of the catalogue."""
        entry = catalogue().get(self.code)
        if entry is None and not self.fields:
            return self.code
        try:
            text = _FORMATTER.vformat(entry.message, (), self.fields) if entry else self._without_entry()
        except (KeyError, ValueError, TypeError):  # a message must never hide the problem that it reports
            text = f"{self.code}: {self._pairs()}"
        head = ", ".join(str(self.fields[name])[:_MAX_PLACE_CHARACTERS] for name in _PLACES if self.fields.get(name))
        line = f"{head}: {text}" if head else text
        return line if line.isprintable() else repr(line)[1:-1]

    def log_line(self) -> str:
        """Return the code, the fields and the sentence as key=value pairs, for a log.

        Examples
        --------
        >>> Problem("no-such-code", {"operator": "taxi", "timeout_s": 5.0}).log_line()
        'code=no-such-code operator=taxi timeout_s=5 message="operator=taxi timeout_s=5"'
        """
        return " ".join(part for part in (f"code={self.code}", self._pairs(), f"message={_quoted(str(self))}") if part)

    def as_json(self) -> dict[str, Any]:
        """Return code, fields and sentence as a JSON object."""
        from pydantic_core import to_jsonable_python  # not on Spark's drivers, nor with the agents

        fields = to_jsonable_python(dict(self.fields), bytes_mode="hex", fallback=str)
        return {"code": self.code, "fields": fields, "message": str(self)}

    def _without_entry(self) -> str:
        """Return the text of a plug-in's own code: its field ``text``, or all fields."""
        return str(self.fields.get("text") or self._pairs() or self.code)

    def _pairs(self) -> str:
        return pairs_of(self.fields)


class GesscaleError(Exception):
    """Base class of all errors that are raised on purpose; a command exits with 1.

    Parameters
    ----------
    code
        A code of a catalogue, such as ``metrics-timeout``; or all problems at once, at least one, without fields.
    fields
        Figures and names for the sentence and the JSON of the error.
    """

    def __init__(self, code: str | Sequence[Problem], /, **fields: Any) -> None:
        super().__init__(code)
        #: At least one; most errors have exactly one.
        self.problems: tuple[Problem, ...] = (Problem(code, fields),) if isinstance(code, str) else tuple(code)

    @property
    def problem(self) -> Problem:
        """The first problem."""
        return self.problems[0]

    @property
    def code(self) -> str:
        """The code of the first problem, such as ``metrics-timeout``."""
        return self.problem.code

    @property
    def fields(self) -> Mapping[str, Any]:
        """The figures of the first problem."""
        return self.problem.fields

    def __str__(self) -> str:
        return "; ".join(str(problem) for problem in self.problems)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


class InputError(GesscaleError):
    """Invalid input from the user; a command exits with 2."""


class InvalidValueError(InputError, ValueError):
    """A value that a constructor or a pydantic validator rejects."""


def cause_of(error: Exception) -> str:
    """Return why a file cannot be read or written; without its path and number, which the system's text repeats."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class _MessageFormatter(Formatter):
    """Fills templates: a list shows its first items, ``!r`` a shortened value, a float six digits."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, list | tuple | set | frozenset) and not format_spec:
            return format_list(str(each) for each in value)
        if isinstance(value, float) and not format_spec:
            return f"{value:g}"
        return str(format(value, format_spec))

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return truncated_repr(value) if conversion == "r" else super().convert_field(value, conversion)


_FORMATTER = _MessageFormatter()
_PLACES = ("source", "place")


def _restored(kind: type[GesscaleError], args: tuple[Any, ...], state: dict[str, Any]) -> GesscaleError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


def pairs_of(fields: Mapping[str, Any]) -> str:
    """Return fields as key=value pairs, for a log."""
    return " ".join(f"{name}={_pair_value(value)}" for name, value in fields.items())


def _pair_value(value: object) -> str:
    text = _FORMATTER.format_field(value, "")
    return text if text and text.isprintable() and not set(text) & set(' "=') else _quoted(text)


def _quoted(text: str) -> str:
    safe = text if text.isprintable() else repr(text)[1:-1]
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"') + '"'
