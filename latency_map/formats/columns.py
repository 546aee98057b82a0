"""The columns of a list of delays, found by their labels, and the samples in its rows.

A table has labels in its heading, a list in JSON has the keys of its objects, a graph those of its edges. Where two
labels fit, both are refused until an option names the one to use. Columns of loss, counts, status, unit, direction and
time are used, so that no delay contradicts what its row states beside it.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from gesscale.common.errors import Problem
from gesscale.common.text import truncated_repr
from latency_map.errors import LatencyMapError
from latency_map.formats.samples import Sample
from latency_map.formats.source import ImportOptions
from latency_map.kinds import DelayKind, DelayUnit


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NAMES_OF_UNITS = {
    DelayUnit.NS: "ns nsec nsecs nanos nanosec nanosecond nanoseconds",
    DelayUnit.US: "us usec usecs micros microsec microsecond microseconds µs μs µsec",
    DelayUnit.MS: "ms msec msecs millis millisec millisecs millisecond milliseconds",
    DelayUnit.S: "s sec secs second seconds",
}
UNITS = {name: unit for unit, names in _NAMES_OF_UNITS.items() for name in names.split()}
_ROUND_TRIP, _ONE_WAY = _set("rtt rtts roundtrip"), _set("owd oneway")
_DELAY = _ROUND_TRIP | _ONE_WAY | _set("latency latencies delay delays ping pings response lag")
_CENTRAL = _set("avg average mean median med p50")
_OTHER_STATISTIC = re.compile(
    r"p\d+|min|minimum|max|maximum|best|worst|wrst|std\w*|sd|m?dev|deviation|var|variance|jitter|last|first|percentile"
)
_FILL = _set("in of the value network net tcp icmp udp link path measured observed time times packet")
_ELAPSED = _set("time times elapsed duration offset uptime")
_LAST_RESORT = _set("value weight")

_ENDS: Sequence[tuple[frozenset[str], frozenset[str]]] = (
    (_set("from source src origin"), _set("to target tgt destination dest dst")),
    (
        _set("client sender sending probe prober local pinger agent monitor vantage initiator"),
        _set("server receiver receiving remote peer responder"),
    ),
)
_LETTERS = (*zip("aiuxn01", "bjvym12", strict=True), ("row", "col"), ("row", "column"), ("left", "right"))
_ADDRESS = _set("ip ipv4 ipv6 addr address id uuid")
#: Words that may stand beside those of an end.
_OF_END = (
    _ADDRESS | _ENDS[1][0] | _ENDS[1][1] | _set("node nodes host hostname name city region site zone az location dc")
) | _set("datacenter vertex pod router switch device machine point endpoint end label exported instance cluster var")

_LOSS = _set("loss losses lost packetloss dropped")
_PERCENT, _RATIO = _set("% pct percent percentage"), _set("ratio fraction share")
_OF_LOSS = _LOSS | _PERCENT | _RATIO | _set("packet packets probe probes pkt pkts rate avg ping icmp count of total")
_COUNTS = _set("packet packets probe probes pkt pkts count ping pings icmp total of number replies")
_SENT = _set("sent snt transmitted xmt tx")
_RECEIVED = _set("received recv rcv rcvd rx replies samples count")
_GOOD_STATUS = _set(
    "status state outcome result success successful succeeded ok reachable alive up online available valid"
)
_BAD_STATUS = _set("timeout timedout failed failure fail error down dead unreachable")
_OF_STATUS = _set("is was probe ping icmp test check connection request http exit return code")
_CODE = _set("rc returncode exit errno code")
_YES = _set("ok success successful succeeded true t yes y 1 up alive reachable reply finished done connected completed")
_YES |= _set("online available good healthy pass passed valid 200")
_NO = _set(
    "false f no n 0 down dead unreachable failed failure fail error err timeout timedout timed-out lost loss offline"
)
_NO |= _set(
    "none noreply no-reply no-response request-timed-out host-unreachable unavailable refused rejected aborted bad"
)
_NO |= _set("destination-host-unreachable destination-unreachable invalid disconnected closed")
_TIME = _set(
    "timestamp datetime date time ts epoch measured created updated when start end begin started ended at utc unix"
)
_TIME |= _set("unixtime timestamps sampled recorded observed") | UNITS.keys() | _ELAPSED
_METRIC = _set("metric measure statistic stat variable quantile percentile")
_DIRECTION = _set("kind direction way")

#: Texts that stand for a missing delay, in lower case.
MISSING = (
    _set("- -- – — * ? . x n/a na #n/a nan null none false inf infinity ∞ !") | (_NO - _set("0 f n no bad")) | {""}
)
_MISSING_PHRASE = re.compile(
    r"(?:\* ?)+|(?:request |connection )?time(?:d )?out|no (?:reply|response)|.{0,20}unreachable"
)

_WORD = re.compile(r"p\d+\b|[^\W\d_]+|\d+|%")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINED = {
    ("round", "trip"): "roundtrip",
    ("one", "way"): "oneway",
    ("timed", "out"): "timedout",
    ("1", "way"): "oneway",
}
_WITH_UNIT = re.compile(r"([+-]?[0-9.]{1,40}(?:[eE][+-]?[0-9]{1,9})?)\s*([a-zµμ]{1,12})?", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+\D*")
#: Numbers from here on are seconds since the epoch; a thousand times as large ones are milliseconds, and so on.
_FIRST_TIME_S, _LAST_TIME_S = 1e8, 1e11


def words_of(label: str) -> list[str]:
    """Return the words of a label in lower case, with "round trip" and "one way" joined."""
    words = _WORD.findall(_CAMEL.sub(" ", label[:100]).lower())
    for at in range(len(words) - 2, -1, -1):
        if (joined := _JOINED.get((words[at], words[at + 1]))) is not None:
            words[at : at + 2] = [joined]
    return words


def parse_label(label: str) -> tuple[DelayUnit | None, DelayKind | None]:
    """Return the unit and the direction in a label of a delay; None for each that is missing."""
    words = set(words_of(label))
    units = {UNITS[word] for word in words if word in UNITS}
    kind = DelayKind.RTT if words & _ROUND_TRIP else DelayKind.ONE_WAY if words & _ONE_WAY else None
    return (units.pop() if len(units) == 1 else None), kind


def _rank(label: str) -> str:
    """Return what a label is of: delay, other (another statistic), elapsed, last (resort); "" if it is of no delay."""
    words = set(words_of(label))
    other = {word for word in words if _OTHER_STATISTIC.fullmatch(word)} - _CENTRAL
    known = _DELAY | _CENTRAL | UNITS.keys() | _FILL | _ELAPSED | _LAST_RESORT | other
    if "lat" in words and words & UNITS.keys():
        words = words - {"lat"} | {"latency"}
    if not words or not words <= known:
        return ""
    if other:
        return "other"
    if words & (_DELAY | _CENTRAL):
        return "delay"
    if words & UNITS.keys():
        return "elapsed" if words & _ELAPSED or words == {"s"} else "delay"
    return "last" if words <= _LAST_RESORT else ""


def is_delay_label(label: str) -> bool:
    """Return whether a label is that of a delay and has no word with another meaning."""
    return _rank(label) in ("delay", "elapsed")


class Columns(NamedTuple):
    """Positions of the columns of a list, from 0; None or none for those that it does not have."""

    source: int
    target: int
    delay: int
    unit: int | None = None
    #: Losses and statuses, each of which may state that all probes were lost.
    losses: tuple[int, ...] = ()
    statuses: tuple[int, ...] = ()
    sent: int | None = None
    received: int | None = None
    times: tuple[int, ...] = ()
    #: Names of what the delay is, and its direction, by row.
    metric: int | None = None
    direction: int | None = None


def has_columns(labels: Sequence[str]) -> bool:
    """Return whether labels are those of the two ends of a pair, once or more often."""
    return bool(_pairs_of_ends([words_of(label) for label in labels]))


def find_columns(file: str, labels: Sequence[str], options: ImportOptions, *, with_ends: bool = True) -> Columns:
    """Return the columns of a list of pairs, by labels or as the options name them; -1 for the ends if it has none.

    Raises
    ------
    LatencyMapError
        A column is missing, or several fit.
    """
    source, target = _find_ends(file, labels, options) if with_ends else (-1, -1)
    rest = [at for at in range(len(labels)) if at not in (source, target)]
    delay = _find_delay(file, labels, rest, options.delay_column)
    words = {at: frozenset(words_of(labels[at])) for at in rest if at != delay}

    def having(kinds: frozenset[str], beside: frozenset[str]) -> list[int]:
        return [at for at, each in words.items() if each & kinds and each <= kinds | beside]

    def one(found: list[int], option: str) -> int | None:
        return _only(file, labels, found, option) if found else None

    units = having(_set("unit units uom"), _DELAY | _FILL)
    if options.unit_column is not None:
        units = [_named(file, labels, options.unit_column, "--unit-column")]
    return Columns(
        source=source,
        target=target,
        delay=delay,
        unit=one(units, "--unit-column"),
        losses=tuple(having(_LOSS, _OF_LOSS)),
        statuses=tuple(having(_GOOD_STATUS | _BAD_STATUS | _CODE - {"code"}, _OF_STATUS | _CODE)),
        sent=next(iter(having(_SENT, _COUNTS)), None),
        received=next(iter(having(_RECEIVED, _COUNTS)), None),
        times=tuple(at for at, each in words.items() if each and each <= _TIME and each - UNITS.keys()),
        metric=one(having(_METRIC, frozenset(("name", "type"))), "--delay"),
        direction=one(having(_DIRECTION, _DELAY), "--delay"),
    )


def _find_ends(file: str, labels: Sequence[str], options: ImportOptions) -> tuple[int, int]:
    """Return the columns of the two ends of a pair."""
    source = options.from_column and _named(file, labels, options.from_column, "--from")
    target = options.to_column and _named(file, labels, options.to_column, "--to-node")
    words = [words_of(label) for label in labels]
    pairs = _pairs_of_ends(words)
    if isinstance(source, int):
        pairs = [(source, b) for b in dict.fromkeys(b for _, b in pairs if b != source)]
    if isinstance(target, int):
        pairs = [(a, target) for a in dict.fromkeys(a for a, _ in pairs if a != target)]
        pairs = [(source, target)] if isinstance(source, int) else pairs
    pairs = [pair for pair in pairs if "exported" in words[pair[0]]] or pairs  # Prometheus renames labels that clash
    named = [pair for pair in pairs if not any(_ADDRESS & set(words[at]) for at in pair)]
    if len(named) == 1 and all(_is_plain(words[at]) for at in named[0]):
        pairs = named  # the others are addresses of the same nodes
    if len(pairs) != 1:
        found = [f"{labels[a]} and {labels[b]}" for a, b in pairs]
        code = "map-columns-ambiguous" if found else "map-column-missing"
        option = "--from and --to-node"
        raise LatencyMapError(code, source=file, wanted="ends of a pair", found=found or list(labels), option=option)
    return pairs[0]


def _pairs_of_ends(labels: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Return the pairs of columns that may be the two ends, by the words of their labels."""
    ends: list[list[int]] = [[], []]
    for at, words in enumerate(labels):
        for sides in _ENDS:
            sides_found = [side for side, kinds in enumerate(sides) for word in words if word in kinds]
            if sides_found:
                beside = set(words) - sides[0] - sides[1]
                if len(sides_found) == 1 and beside <= _OF_END:
                    ends[sides_found[0]].append(at)
                break
    pairs = [(a, b) for a in ends[0] for b in ends[1]]
    for a, first in enumerate(labels):
        for b, second in enumerate(labels):
            stem = first[:-1]
            alike = first and second and stem == second[:-1] and (first[-1], second[-1]) in _LETTERS
            if alike and _OF_END.issuperset(stem) and (stem or not first[-1].isdigit()):
                pairs.append((a, b))
    return pairs


def _is_plain(words: Iterable[str]) -> bool:
    return len(set(words) - {"name", "host", "hostname", "node"}) <= 1


def _find_delay(file: str, labels: Sequence[str], rest: Sequence[int], chosen: str | None) -> int:
    """Return the column of the delay, an elapsed time only if no label is that of a delay."""
    if chosen is not None:
        return _named(file, labels, chosen, "--delay")
    ranks = {at: _rank(labels[at]) for at in rest}
    for rank in ("delay", "other", "elapsed", "last"):
        found = [at for at, each in ranks.items() if each == rank]
        if found and rank != "other":
            return _only(file, labels, found, "--delay")
        if found:  # the least, a percentile or the jitter is not the delay unless the caller says so
            raise _ambiguous(file, labels, found, "--delay")
    raise LatencyMapError("map-column-missing", source=file, wanted="a delay", found=list(labels), option="--delay")


def _only(file: str, labels: Sequence[str], found: Sequence[int], option: str) -> int:
    if len(found) > 1:
        raise _ambiguous(file, labels, found, option)
    return found[0]


def _ambiguous(file: str, labels: Sequence[str], found: Sequence[int], option: str) -> LatencyMapError:
    wanted = "a unit" if option == "--unit-column" else "a delay"
    names = [labels[at] for at in found]
    return LatencyMapError("map-columns-ambiguous", source=file, wanted=wanted, found=names, option=option)


def _named(file: str, labels: Sequence[str], name: str, option: str) -> int:
    """Return the column that an option names."""
    exact = [at for at, label in enumerate(labels) if label == name]
    found = exact or [at for at, label in enumerate(labels) if label.lower() == name.strip().lower()]
    if len(found) != 1:
        raise LatencyMapError("map-column-unknown", source=file, option=option, name=name, found=list(labels))
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
    #: Whether a loss of 1 was taken as total, and whether one above 1 was seen, so that 1 is 1 %.
    total_of_one: bool = False
    in_percent: bool = False
    #: Marks of missing delays, and the label of a time that could not be read, with their numbers.
    marks: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.unit, self.kind = parse_label(self.labels[self.columns.delay])

    def is_plain(self) -> bool:
        """Return whether no column but those of ends and delay matters."""
        return not any(each not in (None, ()) for each in self.columns[3:])

    def sample(self, source: str, target: str, cells: Sequence[object], place: str) -> Sample:
        """Return the sample of one row.

        Raises
        ------
        LatencyMapError
            A value is invalid, or contradicts another one.
        """
        columns = self.columns
        delay, own_unit = parse_delay(cells[columns.delay], self.file, place, self.marks)
        stated = {own_unit, self.unit}
        if columns.unit is not None:
            stated.add(unit_of(cells[columns.unit], self.file, place))
        if len(stated - {None}) > 1:
            units = sorted(each for each in stated if each)
            raise LatencyMapError("map-units-contradict", source=self.file, place=place, units=units)
        unit = None if stated == {None, self.unit} else next(each for each in stated if each)
        kind = None
        if columns.direction is not None:
            kind = self._direction(cells[columns.direction], place)
        if columns.metric is not None:
            self._check_metric(cells[columns.metric], place)
        return Sample(
            source, target, delay, place, unit, kind, self._loss_ratio(cells, delay, place), self._at_s(cells)
        )

    def notes(self) -> list[Problem]:
        """Return notes on marks of missing delays, and on times that could not be read."""
        return [
            *(Problem("import-cells-missing", {"mark": mark, "count": count}) for mark, count in self.marks.items()),
            *(Problem("import-times-unread", {"label": label, "count": n}) for label, n in self.unread.items()),
        ]

    def _loss_ratio(self, cells: Sequence[object], delay: float, place: str) -> float | None:
        """Return the largest loss that the columns of a row state; None if they state none."""
        columns = self.columns
        sent, received = (
            None if at is None else _number(cells[at], self.labels[at], self.file, place)
            for at in (columns.sent, columns.received)
        )
        stated: list[float | None] = [self._loss(cells[at], at, sent, delay, place) for at in columns.losses]
        stated += [self._status(cells[at], self.labels[at], place) for at in columns.statuses]
        if received is not None and (received == 0 or sent):
            stated.append(1 - min(1.0, received / sent) if sent and received else 1.0)
        known = [each for each in stated if each is not None]
        return max(known) if known else None

    def _loss(self, cell: object, at: int, sent: float | None, delay: float, place: str) -> float | None:
        """Return the share of lost probes; 1 is all of them unless a loss is above 1, so that they are percentages."""
        words = set(words_of(self.labels[at]))
        text = _text(cell).rstrip("% ")
        if text in _YES | _NO and not text.isdecimal():
            return self._status(cell, "lost", place)
        loss = _number(text, self.labels[at], self.file, place)
        if loss is None:
            return None
        if words & {"lost", "dropped"} and not words & (_PERCENT | _RATIO):  # a number of probes
            if loss and sent is None and not math.isnan(delay):
                raise self._loss_error(cell, self.labels[at], place)
            return min(1.0, loss / (sent or 1))
        if not 0 <= loss <= (1 if words & _RATIO else 100):
            raise self._loss_error(cell, self.labels[at], place)
        if words & _PERCENT or "%" in _text(cell):
            return loss / 100
        self.in_percent |= loss > 1
        self.total_of_one |= loss == 1
        if self.in_percent and self.total_of_one:
            raise self._loss_error(cell, self.labels[at], place)
        return loss / 100 if self.in_percent else loss

    def _status(self, cell: object, label: str, place: str) -> float | None:
        """Return 1 for a failure and 0 for a success; None if the cell is blank."""
        text = _text(cell).replace(" ", "-").replace("_", "-")
        words = set(words_of(label))
        bad, is_code = bool(words & (_BAD_STATUS | {"lost"})), bool(words & _CODE)
        if not text:
            return None
        if (is_code or "http" in words or "status" in words) and text.isdecimal():
            code = int(text)
            return float(not 200 <= code < 400) if code >= 100 else float(code != 0) if is_code else float(code == 0)
        if text in _YES | _NO:
            failed = text in _NO
            is_value = text in ("true", "t", "yes", "y", "1", "false", "f", "no", "n", "0", "none")
            return float(failed != (bad and (is_value or not failed)) if is_value else failed)
        if words & {"error", "errno"}:  # the text of an error
            return 1.0
        raise LatencyMapError(
            "map-status-unknown", source=self.file, place=place, label=label, got=truncated_repr(cell)
        )

    def _direction(self, cell: object, place: str) -> DelayKind | None:
        words = set(words_of(str(cell))) if cell not in (None, "") else set()
        kind = DelayKind.RTT if words & _ROUND_TRIP else DelayKind.ONE_WAY if words & _ONE_WAY else None
        if words and kind is None:
            raise LatencyMapError("map-direction-unknown", source=self.file, place=place, got=truncated_repr(cell))
        return kind

    def _check_metric(self, cell: object, place: str) -> None:
        """Refuse a row of another figure than the delay, such as the loss or a percentile."""
        text = str(cell).strip()
        if _rank(text) not in ("delay", "elapsed") and text not in ("0.5", "50"):
            raise LatencyMapError("map-metric-unknown", source=self.file, place=place, got=truncated_repr(cell))

    def _at_s(self, cells: Sequence[object]) -> float | None:
        """Return the oldest time of a row; a date and a time of day are one time."""
        texts = {self.labels[at]: cells[at] for at in self.columns.times if cells[at] not in (None, "")}
        by_word = {label.lower(): label for label in texts}
        if {"date", "time"} <= by_word.keys():
            texts[by_word["date"]] = f"{texts[by_word['date']]} {texts.pop(by_word['time'])}"
        found = []
        for label, cell in texts.items():
            at_s = parse_time(cell)
            if at_s is None:
                self.unread[label] += 1
            else:
                found.append(at_s)
        return min(found) if found else None

    def _loss_error(self, cell: object, label: str, place: str) -> LatencyMapError:
        return LatencyMapError("map-loss-invalid", source=self.file, place=place, label=label, got=truncated_repr(cell))


def _text(cell: object) -> str:
    return "" if cell is None else str(cell).strip().lower()


def _number(cell: object, label: str, file: str, place: str) -> float | None:
    """Parse a count or a share; None if it is missing."""
    text = _text(cell)
    if text in ("", "-", "nan", "null", "none", "n/a", "na"):
        return None
    try:
        return float(text)
    except ValueError:
        raise LatencyMapError(
            "map-loss-invalid", source=file, place=place, label=label, got=truncated_repr(cell)
        ) from None


def parse_delay(
    cell: object, file: str, place: str, marks: Counter[str] | None = None
) -> tuple[float, DelayUnit | None]:
    """Parse a delay such as 12.5 or ``12.5 ms``; NaN if it is missing, whose mark is counted.

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
    text = cell.strip() if isinstance(cell, str) else str(cell)
    if (match := _WITH_UNIT.fullmatch(text)) and (not match[2] or match[2].lower() in UNITS):
        try:
            return float(match[1]), UNITS[match[2].lower()] if match[2] else None
        except ValueError:
            pass  # such as 1.2.3
    if text.lower() in MISSING or _MISSING_PHRASE.fullmatch(text.lower()):
        if marks is not None and text:
            marks[text] += 1
        return math.nan, None
    code = "map-decimal-comma" if _DECIMAL_COMMA.fullmatch(text) else "map-cell-invalid"
    raise LatencyMapError(code, source=file, place=place, cell=truncated_repr(cell))


def unit_of(cell: object, file: str, place: str) -> DelayUnit | None:
    """Return the unit that a text names, None if it is blank; raise LatencyMapError if it is none."""
    if cell in (None, ""):
        return None
    unit = UNITS.get(str(cell).strip().lower().strip("[]()."))
    if unit is None:
        raise LatencyMapError("map-unit-unknown", source=file, place=place, got=truncated_repr(cell))
    return unit


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
    if not _FIRST_TIME_S <= seconds < 1e9 * _LAST_TIME_S:
        return None
    while seconds >= _LAST_TIME_S:
        seconds /= 1e3
    return seconds
