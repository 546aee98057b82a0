"""JSON, read strictly and piece by piece: every key once, no NaN, no nesting without end, and never all of it."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Never, TypeAlias

from gesscale.common.text import shortened
from latency_map.errors import LatencyMapError, error_at
from latency_map.limits import MapLimits

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

_BLANKS = re.compile(r"[ \t\n\r]*")
_DEEPEST_SKIPPED = 50
_MORE_KEYS = 100


def parse_json(text: str, source: str) -> Json:
    """Read JSON as a whole, where its size is bounded already.

    Raises
    ------
    LatencyMapError
        It is no JSON, holds a key twice in one object, or NaN or infinity as a number, or is nested too deeply.
    """
    try:
        content: Json = json.loads(text, object_pairs_hook=_every_key_once, parse_constant=_refuse_constant)
    except RecursionError:
        problem = "nesting of thousands of levels"
    except ValueError as error:
        problem = str(error)
    else:
        return content
    raise error_at(source, "", f"expected JSON, got: {problem}; correct it")


class JsonReader:
    """JSON that is read value by value: only the current one is held.

    An object is gone through by `members` and a list by `items`; what they come to is taken by `value`, passed by
    `skip`, or gone through in turn, before the next one is asked for.

    Parameters
    ----------
    pieces
        Its text, in pieces of any size, none empty.
    name
        Names the text in messages.
    limits
        How large a value that is taken may be, and how many members an object may have.

    Attributes
    ----------
    name, limits
        As given.
    """

    def __init__(self, pieces: Iterable[str], name: str, limits: MapLimits) -> None:
        self.name, self.limits = name, limits
        self._pieces = iter(pieces)
        self._held, self._at, self._ended = "", 0, False
        self._lines, self._line_begins = 1, 0
        self._decoder = json.JSONDecoder(object_pairs_hook=_every_key_once, parse_constant=_refuse_constant)

    def begins(self) -> str:
        """Return the character that the next value begins with; "" at the end of the text."""
        while True:
            self._at = _end_of_blanks(self._held, self._at)
            if self._at < len(self._held):
                return self._held[self._at]
            if not self._read_on():
                return ""

    def value(self) -> Json:
        """Take the next value.

        Raises
        ------
        LatencyMapError
            It is no JSON, or longer or nested deeper than anything in a map.
        """
        self.begins()
        self._hold_piece()
        most = self.limits.piece_characters
        try:
            content: Json
            content, end = self._decoder.raw_decode(self._held, self._at)
        except RecursionError:
            raise self._error("nesting of thousands of levels") from None
        except json.JSONDecodeError as error:
            if not self._ended and (error.msg.startswith("Unterminated") or error.pos - self._at >= most):
                raise self._too_long() from None
            raise self._error(error.msg, error.pos) from None
        except ValueError as error:
            raise self._error(str(error)) from None
        if end - self._at > most:
            raise self._too_long()
        self._at = end
        return content

    def last_value(self) -> Json:
        """Take the next value, after which the text must end; see `value`."""
        content = self.value()
        self.end()
        return content

    def members(self) -> Iterator[str]:
        """Go through an object.

        Yields
        ------
        str
            A key; its value comes next.
        """
        self._pass("{", "an object")
        keys: set[str] = set()
        while self._goes_on(len(keys), "}"):
            if self.begins() != '"':
                raise self._error("Expecting a key in double quotes")
            key = str(self.value())
            if key in keys:
                raise self._error(f"the key {shortened(key)} twice in one object")
            keys.add(key)
            if len(keys) > self.limits.nodes + _MORE_KEYS:
                raise error_at(self.name, "", self.limits.too_long("keys in an object", len(keys) - 1))
            self._pass(":", "':'")
            yield key

    def items(self) -> Iterator[int]:
        """Go through a list.

        Yields
        ------
        int
            The position of an item, from 0; the item comes next.
        """
        self._pass("[", "a list")
        position = 0
        while self._goes_on(position, "]"):
            yield position
            position += 1

    def skip(self, depth: int = 0) -> None:
        """Pass the next value, however long it is."""
        begins = self.begins()
        if depth == _DEEPEST_SKIPPED or begins not in ("{", "["):
            self.value()
        elif not self._skip_short():
            for _ in self.members() if begins == "{" else self.items():
                self.skip(depth + 1)

    def end(self) -> None:
        """Refuse a text that goes on after its value."""
        if self.begins():
            raise self._error("Extra data")

    def _hold_piece(self) -> None:
        while len(self._held) - self._at <= self.limits.piece_characters and self._read_on():
            pass

    def _skip_short(self) -> bool:
        """Pass the next value where all of it is held; tell whether it was."""
        self._hold_piece()
        try:
            _, self._at = self._decoder.raw_decode(self._held, self._at)
        except (RecursionError, ValueError):
            return False
        return True

    def _goes_on(self, count: int, closing: str) -> bool:
        """Tell whether an object or a list has one more, after so many, and step to it or out of it."""
        begins = self.begins()
        if begins == closing:
            self._at += 1
            return False
        if count:
            self._pass(",", f"',' or {closing!r}")
        return True

    def _pass(self, mark: str, expected: str) -> None:
        if self.begins() != mark:
            raise self._error(f"Expecting {expected}")
        self._at += 1

    def _read_on(self) -> bool:
        """Add a piece to what is held, and let go of what was read."""
        piece = next(self._pieces, "")
        self._ended = not piece
        if piece:
            line_end = self._held.rfind("\n", 0, self._at)
            self._lines += self._held.count("\n", 0, self._at)
            self._line_begins = (self._line_begins if line_end < 0 else line_end + 1) - self._at
            self._held, self._at = self._held[self._at :] + piece, 0
        return bool(piece)

    def _error(self, problem: str, at: int | None = None) -> LatencyMapError:
        position = self._at if at is None else at
        line = self._lines + self._held.count("\n", 0, position)
        line_end = self._held.rfind("\n", 0, position)
        column = position - (self._line_begins if line_end < 0 else line_end + 1) + 1
        where = f"line {line} column {column}"
        todo = "correct it, or say --format if it is something else"
        return error_at(self.name, "", f"expected JSON, got: {problem}: {where}; {todo}")

    def _too_long(self) -> LatencyMapError:
        most = self.limits.piece_characters
        return error_at(self.name, "", self.limits.too_long("characters in a piece of JSON", most))


def kind_of(content: Json) -> str:
    """Say what a piece of JSON is, for messages."""
    if content is None or isinstance(content, bool | int | float):
        text = "null" if content is None else str(content).lower()
        return text if len(text) <= 40 else text[:37] + "..."
    if isinstance(content, str):
        return shortened(content)
    return f"an object of {len(content)} keys" if isinstance(content, dict) else f"a list of {len(content)}"


def as_number(content: Json) -> float | None:
    """Return a number as float; None where it is none, or too large for one."""
    if isinstance(content, bool) or not isinstance(content, int | float):
        return None
    try:
        return float(content)
    except OverflowError:
        return None


def _end_of_blanks(text: str, start: int) -> int:
    found = _BLANKS.match(text, start)
    return found.end() if found else start


def _every_key_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    content: dict[str, Json] = {}
    for key, value in pairs:
        if key in content:
            message = f"the key {shortened(key)} twice in one object"
            raise ValueError(message)
        content[key] = value
    return content


def _refuse_constant(name: str) -> Never:
    message = f"{name} where a number or null is expected"
    raise ValueError(message)
