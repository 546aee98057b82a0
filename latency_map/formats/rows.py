"""The samples in the rows of a list of delays, and the values in its cells.

Loss, counts and status decide whether a row has a delay at all; a value that is not understood is refused, since it may
contradict the delay.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

from gesscale.common.errors import Problem
from gesscale.common.text import truncated_repr
from latency_map.errors import LatencyMapError
from latency_map.formats import columns as named
from latency_map.formats.columns import UNITS, Columns, parse_label, rank_of, word_set, words_of
from latency_map.formats.samples import DelaySample
from latency_map.kinds import DelayKind, DelayUnit

_BOOLEANS = dict.fromkeys(("true", "t", "yes", "y", "1"), True) | dict.fromkeys(("false", "f", "no", "n", "0"), False)
_LOST = word_set("lost dropped drops timeouts verloren count number")
_WELL = word_set("ok success successful succeeded up alive reachable reply replied finished done connected completed")
_WELL |= word_set("online available good healthy pass passed valid received")
_ILL = word_set(
    "unhealthy down dead unreachable failed failure fail error err timeout timedout timed-out lost loss offline none"
)
_ILL |= word_set("noreply no-reply no-response unavailable refused rejected aborted bad invalid disconnected")
_NO_REPLY = re.compile(r"(?:\*[ -]?)+|(?:request-|connection-)?time(?:d-)?-?out|[a-z-]{0,30}unreachable")

#: Texts of columns that are not used, of which each means that the row has no delay, or another figure.
_CONTRADICTING = word_set("timeout timedout timed-out lost failed failure unreachable noreply no-reply")
_CONTRADICTING |= word_set("one-way oneway owd p90 p95 p99 p99.9 min max minimum maximum jitter stddev loss")
#: Texts that stand for a missing delay, in lower case; all of a failure do, too.
MISSING = word_set("- -- – — * ? n/a na #n/a nan null none false inf infinity ∞") | _ILL | {""}
_WITH_UNIT = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,9})?)\s*([A-Za-zµμ]{1,12})?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+\D*")
#: Numbers between these (2001 and 2103) are times in s, ms, us or ns since the epoch; smaller ones are elapsed times.
_FIRST_TIME_S, _LAST_TIME_S = 1e9, 4.2e9

#: A delay, NaN if it is missing, and the unit that stands with it.
Figure: TypeAlias = tuple[float, DelayUnit | None]


@dataclass(slots=True)
class RowReader:
    """Samples of the rows of a list; a cell is a text, or a value of JSON."""

    file: str
    labels: Sequence[str]
    columns: Columns
    #: Unit and direction of the label of the delay; None if it has none (unit, kind).
    unit: DelayUnit | None = field(init=False)
    kind: DelayKind | None = field(init=False)
    #: Whether a loss of 1 was taken as total, and whether one above 1 was seen, so that 1 is 1 %.
    total_of_one: bool = False
    in_percent: bool = False
    #: Marks of missing delays, and labels of times that could not be read, with their numbers.
    marks: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    #: Whether no columns but those of ends and delay matter, and those that are not used.
    is_plain: bool = field(init=False)
    unused: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.unit, self.kind = parse_label(self.labels[self.columns.delay])
        self.is_plain = not any(self.columns[3:])
        self.unused = named.unused_columns(self.file, self.labels, self.columns)

    def sample(self, source: str, target: str, cells: Sequence[object], place: str) -> DelaySample:
        """Return the sample of one row.

        Raises
        ------
        LatencyMapError
            A value is invalid, or contradicts another one.
        """
        columns = self.columns
        delay, own_unit = parse_delay(cells[columns.delay], self.file, place, self.marks)
        for at in self.unused:
            if cells[at] and str(cells[at]).lower().replace(" ", "-") in _CONTRADICTING:
                raise LatencyMapError("map-column-doubtful", source=self.file, place=place, found=[self.labels[at]])
        by_row = unit_of(cells[columns.units[0]], self.file, place) if columns.units else None
        stated = {unit for unit in (own_unit, by_row, self.unit) if unit is not None}
        if len(stated) > 1:
            raise LatencyMapError("map-units-contradict", source=self.file, place=place, units=sorted(stated))
        unit = own_unit or by_row
        if self.is_plain:
            return DelaySample(source, target, delay, place, unit)
        loss_ratio = self._loss_ratio(cells, delay, place)
        return DelaySample(source, target, delay, place, unit, loss_ratio, self._at_s(cells))

    def notes(self) -> list[Problem]:
        """Return notes on the label of the delay, on marks of missing ones, and on times that could not be read."""
        label = self.labels[self.columns.delay]
        assumed = [] if rank_of(label) == "delay" else [Problem("import-key-assumed", {"key": label})]
        unused = [self.labels[at] for at in self.unused if not rank_of(self.labels[at])]
        assumed += [Problem("import-columns-unused", {"labels": unused})] if unused else []
        marks = [Problem("import-cells-missing", {"mark": mark, "count": n}) for mark, n in self.marks.items()]
        times = [Problem("import-times-unread", {"label": label, "count": n}) for label, n in self.unread.items()]
        return assumed + marks + times

    def _loss_ratio(self, cells: Sequence[object], delay: float, place: str) -> float | None:
        """Return the largest loss that the columns of a row state; None if they state none."""
        columns = self.columns
        sent, received = (
            next((self._number(at, cells, place) for at in each), None) for each in (columns.sent, columns.received)
        )
        stated = [self._loss(at, cells, sent, delay, place) for at in columns.losses]
        if sent == 0 or (received is not None and (sent or not received)):
            stated.append(1 - min(1.0, (received or 0) / sent) if sent else 1.0)
        return max((each for each in stated if each is not None), default=None)

    def _loss(self, at: int, cells: Sequence[object], sent: float | None, delay: float, place: str) -> float | None:
        """Return the share of lost probes, 1 for a failure; a loss of 1 is total unless another one is above 1."""
        words, text = set(words_of(self.labels[at])), _text(cells[at])
        is_share = bool(words & (named.LOSS | named.SHARE))
        if text in _WELL | (_ILL - {"none"} if is_share else _ILL) or (
            text and not is_share and _NO_REPLY.fullmatch(text)
        ):
            return float(text not in _WELL)
        if text in _BOOLEANS and not (text.isdecimal() and (is_share or words & named.STATUS) and "is" not in words):
            return float(_BOOLEANS[text] == bool(words & (named.LOSS | named.BAD)))
        if text and not is_share:
            if words & {"err", "error", "errors", "errno"}:  # the text of an error, or the number of errors
                return 1.0
            raise LatencyMapError("map-status-unknown", **self._where(at, cells, place))
        if (loss := self._number(at, cells, place)) is None:
            return None
        if words & _LOST and not words & named.SHARE:  # a number of probes
            if loss and not sent and not math.isnan(delay):
                raise LatencyMapError("map-loss-invalid", **self._where(at, cells, place))
            return min(1.0, loss / (sent or 1))
        loss = self._ratio(loss, words, text)
        if not 0 <= loss <= 1 or (self.in_percent and self.total_of_one):
            raise LatencyMapError("map-loss-invalid", **self._where(at, cells, place))
        return loss if words & (named.LOSS | named.BAD) else 1 - loss

    def _ratio(self, loss: float, words: set[str], text: str) -> float:
        if words & named.PERCENT or "%" in text:
            return loss / 100
        if not words & named.RATIO:
            self.in_percent |= loss > 1
            self.total_of_one |= loss == 1
            return loss / 100 if self.in_percent else loss
        return loss

    def _at_s(self, cells: Sequence[object]) -> float | None:
        """Return the oldest time of a row; a date and a time of day are one time."""
        texts = {self.labels[at].lower(): cells[at] for at in self.columns.times if cells[at] not in (None, "")}
        if "date" in texts and "time" in texts:
            texts["date"] = f"{texts['date']} {texts.pop('time')}"
        times = {label: parse_time(cell) for label, cell in texts.items()}
        self.unread.update(label for label, at_s in times.items() if at_s is None)
        return min((at_s for at_s in times.values() if at_s is not None), default=None)

    def _number(self, at: int, cells: Sequence[object], place: str) -> float | None:
        """Parse a count or a share; None if it is missing."""
        text = _text(cells[at]).rstrip("%- ")
        if text in MISSING:
            return None
        try:
            return float(text)
        except ValueError:
            raise LatencyMapError("map-loss-invalid", **self._where(at, cells, place)) from None

    def _where(self, at: int, cells: Sequence[object], place: str) -> dict[str, object]:
        return {"source": self.file, "place": place, "label": self.labels[at], "got": truncated_repr(cells[at])}


def parse_delay(cell: object, file: str, place: str, marks: Counter[str] | None = None) -> Figure:
    """Parse a delay such as 12.5 or ``12.5 ms``; NaN if it is missing, whose mark is counted.

    Raises
    ------
    LatencyMapError
        It is neither.
    """
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return float(cell) if abs(cell) < 1e300 else math.inf, None
    text = "" if cell is None else str(cell).strip()
    if (match := _WITH_UNIT.fullmatch(text)) and (not match[2] or match[2].lower() in UNITS):
        return float(match[1]), UNITS[match[2].lower()] if match[2] else None
    lowered = _text(cell)
    if lowered in MISSING or _NO_REPLY.fullmatch(lowered):
        if marks is not None and text:
            marks[text] += 1
        return math.nan, None
    code = "map-decimal-comma" if _DECIMAL_COMMA.fullmatch(text) else "map-cell-invalid"
    raise LatencyMapError(code, source=file, place=place, cell=truncated_repr(cell))


def unit_of(cell: object, file: str, place: str) -> DelayUnit | None:
    """Return the unit that a text names, None if it is blank; raise LatencyMapError if it is none."""
    text = _text(cell).strip("[]().")
    if text and text not in UNITS:
        raise LatencyMapError("map-unit-unknown", source=file, place=place, got=truncated_repr(cell))
    return UNITS.get(text)


def parse_time(cell: object) -> float | None:
    """Parse a time as seconds since the epoch: ISO 8601, in UTC by default, or a number; None if it is neither."""
    text = "" if cell is None or isinstance(cell, bool) else str(cell).strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            when = datetime.fromisoformat(text.removesuffix("UTC").removesuffix("GMT").strip())
            return max(0.0, (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())
        except (ValueError, OverflowError):
            return None
    scaled = (seconds / scale for scale in (1.0, 1e3, 1e6, 1e9))
    return next((each for each in scaled if _FIRST_TIME_S <= each < _LAST_TIME_S), None)


def is_number(text: str) -> bool:
    """Return whether a text is a decimal number; NaN, infinity and digit groups are not."""
    return _NUMBER.fullmatch(text) is not None


def _text(cell: object) -> str:
    """Return a cell in lower case, with its words joined by hyphens."""
    return "" if cell in (None, []) else re.sub(r"[\s_]+", "-", str(cell).strip().lower())
