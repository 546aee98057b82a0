"""The columns of a list of delays, found by their labels, and the values in them.

A table has labels in its heading, a list in JSON has the keys of its objects, a graph those of its edges. Where two
labels fit equally well, both are refused until an option names the one to use.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import permutations
from typing import NamedTuple

from gesscale.common.errors import Problem
from gesscale.common.text import truncated_repr
from latency_map.errors import LatencyMapError
from latency_map.formats.labels import UNITS, is_delay_label, parse_label, split_unit, words_of
from latency_map.formats.samples import Sample
from latency_map.formats.source import ImportOptions
from latency_map.kinds import DelayKind, DelayUnit


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SOURCES, _TARGETS = ("source", "src", "origin", "from"), ("target", "destination", "dest", "dst", "to")
_ENDS = {(source, target) for source in _SOURCES for target in _TARGETS} | {
    ("sender", "receiver"),
    ("sending", "receiving"),
    ("client", "server"),
    ("local", "remote"),
    *zip("aiuss01", "bjvtd12", strict=True),
}
#: Words that may stand beside those of an end.
_OF_END = _set(
    "node host hostname city region site zone location dc datacenter vertex pod router switch "
    "device server name id ip addr address country label exported instance"
)
_WORD = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

_CENTRAL = {"avg", "average", "mean", "median", "p50"}
_EXTREME = {"min", "max"}
_PROPER = {"rtt", "rtts", "roundtrip", "oneway", "owd", "latency", "delay", "ping"}
_TIMES = ("timestamp", "measuredat", "datetime", "date", "time", "createdat", "ts")
_LOSS = _set("loss packet packets probe probes pct percent percentage ratio rate fraction share")
_STATUS = {"status", "state", "ok", "success", "successful", "reachable", "alive", "up"}
_FAILURE = {"timeout", "timedout", "failed", "lost", "unreachable"}
_YES = _set("ok success successful true 1 up alive reachable finished done connected completed yes 200")
_NO = _set("false 0 down dead unreachable failed failure fail error timeout lost no offline none timed-out")
#: Texts that stand for a missing delay, in lower case.
MISSING = {"", "-", "–", "—", "*", "?", "n/a", "na", "null", "none", "x"} | _FAILURE | {"timed out", "false", "error"}
#: Numbers from here on are seconds since the epoch; a thousand times as large ones are milliseconds, and so on.
_FIRST_TIME_S, _LAST_TIME_S = 1e8, 1e11
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+\D*")


class Columns(NamedTuple):
    """Positions of the columns of a list, from 0; None for those that it does not have."""

    source: int
    target: int
    delay: int
    unit: int | None = None
    loss: int | None = None
    status: int | None = None
    time: int | None = None


def find_columns(file: str, labels: Sequence[str], options: ImportOptions, *, with_ends: bool = True) -> Columns:
    """Return the columns of a list of pairs, by labels or as the options name them; -1 for the ends if it has none.

    Raises
    ------
    LatencyMapError
        A column is missing, or several fit equally well.
    """
    source, target = _find_ends(file, labels, options) if with_ends else (-1, -1)
    of_value = {at: label for at, label in enumerate(labels) if at not in (source, target)}
    joined = {at: "".join(_words(label)) for at, label in of_value.items()}
    units = [at for at, name in joined.items() if name in ("unit", "units", "delayunit", "latencyunit", "rttunit")]
    if options.unit_column is not None:
        units = [_named(file, labels, options.unit_column, "--unit-column")]
    return Columns(
        source=source,
        target=target,
        delay=_find_delay(file, labels, of_value, options.delay_column),
        unit=_only(file, labels, units, "--unit-column") if units else None,
        loss=next((at for at, label in of_value.items() if _is_loss(label)), None),
        status=next((at for at, name in joined.items() if name in _STATUS | _FAILURE), None),
        time=next((at for time in _TIMES for at, name in joined.items() if name == time), None),
    )


def _words(label: str) -> list[str]:
    return _WORD.findall(_CAMEL.sub(" ", label[:100]).lower())


def _is_loss(label: str) -> bool:
    words = _words(label)
    return "loss" in words and _LOSS.issuperset(words)


def _find_ends(file: str, labels: Sequence[str], options: ImportOptions) -> tuple[int, int]:
    """Return the columns of the two ends of a pair."""
    chosen = options.from_column, options.to_column
    if None not in chosen:
        source, target = (_named(file, labels, str(name), "--from, --to-node") for name in chosen)
        return source, target
    words = [_words(label) for label in labels]
    pairs = [
        (a, b)
        for a, b in permutations(range(len(labels)), 2)
        if _are_ends(words[a], words[b]) and chosen[0] in (None, labels[a]) and chosen[1] in (None, labels[b])
    ]
    pairs = [(a, b) for a, b in pairs if "exported" in words[a]] or pairs  # Prometheus renames labels that clash
    ends = {tuple(each for each in words[a] + words[b] if each not in _OF_END) for a, b in pairs}
    if len(ends) == 1:  # several labels of the same nodes: by preference their names
        return min(pairs, key=lambda pair: ("name" not in words[pair[0]], len(words[pair[0]]), pair))
    found = [f"{labels[a]} and {labels[b]}" for a, b in pairs]
    code = "map-ends-ambiguous" if found else "map-ends-missing"
    raise LatencyMapError(code, source=file, found=found, labels=list(labels), option="--from and --to-node")


def _are_ends(first: list[str], second: list[str]) -> bool:
    """Return whether two labels are equal but for one word, which says which end it is."""
    if len(first) != len(second):
        return False
    apart = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    beside = [a for a, b in zip(first, second, strict=True) if a == b]
    if len(apart) != 1 or apart[0] not in _ENDS or not _OF_END.issuperset(beside):
        return False
    return bool(beside) or not apart[0][0].isdigit()


def _find_delay(file: str, labels: Sequence[str], of_value: Mapping[int, str], chosen: str | None) -> int:
    """Return the column of the delay: first one that is called so, then a mean or median, then a time with a unit."""
    if chosen is not None:
        return _named(file, labels, chosen, "--delay")
    words = {at: set(words_of(label)) for at, label in of_value.items()}
    delays = [at for at, label in of_value.items() if is_delay_label(label)]
    for found in (
        [at for at in delays if words[at] & _PROPER],
        [at for at, each in words.items() if each & _CENTRAL and each <= _CENTRAL | UNITS.keys()],
        delays,
        [at for at, each in words.items() if each and each <= UNITS.keys() - {"s"}],
        [at for at, each in words.items() if each in ({"weight"}, {"value"})],
    ):
        usual = [at for at in found if not words[at] & _EXTREME]
        if usual or len(found) > 1:
            return _only(file, labels, usual or found, "--delay")
        if found:
            return found[0]
    raise LatencyMapError("map-delay-column-missing", source=file, labels=list(labels), option="--delay")


def _only(file: str, labels: Sequence[str], found: list[int], option: str) -> int:
    if len(found) > 1:
        raise LatencyMapError("map-columns-ambiguous", source=file, found=[labels[at] for at in found], option=option)
    return found[0]


def _named(file: str, labels: Sequence[str], name: str, option: str) -> int:
    """Return the column that an option names."""
    found = [at for at, label in enumerate(labels) if label == name]
    if len(found) != 1:
        raise LatencyMapError("map-column-unknown", source=file, option=option, name=name, labels=list(labels))
    return found[0]


@dataclass(slots=True)
class RowReader:
    """Samples of the rows of a list; a cell is a text, or a value of JSON."""

    file: str
    labels: Sequence[str]
    columns: Columns
    #: Unit and direction of the label of the delay; None if it has none (unit, kind).
    unit: DelayUnit | None = None
    kind: DelayKind | None = None
    #: Whether a loss of 1 was taken as total, and whether one above 1 was seen, so that 1 would be 1 %.
    total_of_one: bool = False
    in_percent: bool = False
    times_unread: int = 0

    def __post_init__(self) -> None:
        self.unit, self.kind = parse_label(self.labels[self.columns.delay])
        label = self.labels[self.columns.loss] if self.columns.loss is not None else ""
        self.in_percent = "%" in label or bool({"pct", "percent", "percentage"} & set(_words(label)))

    def sample(self, source: str, target: str, cells: Sequence[object], place: str) -> Sample:
        """Return the sample of one row.

        Raises
        ------
        LatencyMapError
            A value is invalid, or contradicts another one.
        """
        columns = self.columns
        delay, unit = parse_delay(cells[columns.delay], self.file, place)
        stated = {unit} if columns.unit is None else {unit, unit_of(cells[columns.unit], self.file, place)}
        if len((stated | {self.unit}) - {None}) > 1:
            units = sorted(each for each in stated | {self.unit} if each)
            raise LatencyMapError("map-units-contradict", source=self.file, place=place, units=units)
        unit = next((each for each in stated if each), None)
        loss_ratio = self._loss(cells[columns.loss], place) if columns.loss is not None else None
        if columns.status is not None and self._has_failed(cells[columns.status], place):
            loss_ratio = 1.0
        at_s = None
        if columns.time is not None:
            at_s = parse_time(cells[columns.time])
            self.times_unread += at_s is None and cells[columns.time] not in (None, "")
        return Sample(source, target, delay, place, unit, None, loss_ratio, at_s)

    def notes(self) -> list[Problem]:
        """Return notes on times that could not be read, and on a delay that is not called so."""
        label = self.labels[self.columns.delay]
        notes = [] if is_delay_label(label) else [Problem("import-key-assumed", {"key": label})]
        if self.times_unread:
            notes.append(Problem("import-times-unread", {"count": self.times_unread}))
        return notes

    def _loss(self, cell: object, place: str) -> float | None:
        """Return the share of lost probes; 1 is all of them unless a loss is above 1, so that they are percentages."""
        text = str(cell).strip() if cell is not None else ""
        if text == "" or text.lower() in ("nan", "null", "-"):
            return None
        percent = text.endswith("%")
        try:
            loss = float(text.rstrip("% "))
        except ValueError:
            loss = math.nan
        if not 0 <= loss <= 100:
            raise LatencyMapError("map-loss-invalid", source=self.file, place=place, got=truncated_repr(cell))
        self.in_percent |= loss > 1
        if percent or self.in_percent:
            if self.total_of_one and not percent:
                raise LatencyMapError("map-loss-invalid", source=self.file, place=place, got=truncated_repr(cell))
            return loss / 100
        self.total_of_one |= loss == 1
        return loss

    def _has_failed(self, cell: object, place: str) -> bool:
        label = self.labels[self.columns.status or 0]
        text = str(cell).strip().lower().replace(" ", "-") if cell is not None else ""
        if text == "":
            return False
        negative = "".join(_words(label)) in _FAILURE
        if text in _YES | _NO:
            return (text in _NO) != negative
        if text.isdecimal():  # of HTTP
            return not 200 <= int(text) < 400
        raise LatencyMapError("map-status-unknown", source=self.file, place=place, label=label, got=text)


def parse_delay(cell: object, file: str, place: str) -> tuple[float, DelayUnit | None]:
    """Parse a delay such as 12.5 or ``12.5 ms``; NaN if it is missing.

    Raises
    ------
    LatencyMapError
        It is neither.
    """
    if cell is None or cell is False:
        return math.nan, None
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        try:
            return float(cell), None
        except OverflowError:
            return math.inf, None
    if isinstance(cell, str):
        text = cell.strip()
        if text.lower() in MISSING:
            return math.nan, None
        if found := split_unit(text):
            return found
        if _DECIMAL_COMMA.fullmatch(text):
            raise LatencyMapError("map-decimal-comma", source=file, place=place, cell=text)
    raise LatencyMapError("map-cell-invalid", source=file, place=place, cell=truncated_repr(cell))


def unit_of(cell: object, file: str, place: str) -> DelayUnit | None:
    """Return the unit that a text names, None if it is blank; raise LatencyMapError if it is none."""
    if cell in (None, ""):
        return None
    unit = UNITS.get(str(cell).strip().lower())
    if unit is None:
        raise LatencyMapError("map-unit-unknown", source=file, place=place, got=truncated_repr(cell))
    return unit


def parse_time(cell: object) -> float | None:
    """Parse a time as seconds since the epoch: ISO 8601, in UTC by default, or a number; None if it is neither."""
    text = str(cell).strip().removesuffix("UTC").strip() if cell is not None and not isinstance(cell, bool) else ""
    try:
        seconds = float(text)
    except ValueError:
        try:
            when = datetime.fromisoformat(text)
            seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
        return seconds if seconds >= 0 else None
    if not _FIRST_TIME_S <= seconds < 1e3 * 1e3 * 1e3 * _LAST_TIME_S:
        return None
    while seconds >= _LAST_TIME_S:
        seconds /= 1e3
    return seconds
