"""Offered rows and backlog of a query's sources, computed from their offsets. Pure.

`gesscale.spark.source_kinds` has the counters of an offset. Here they are followed by partition: a counter that falls,
or is new, began again. How many rows an offset stands for is learned from the batches.
"""

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gesscale.common.errors import Problem
from gesscale.spark.source_kinds import KAFKA, Counts, SourceKind, is_time, kind_of, parse_offset, sum_of_numbers

#: Converts the JSON text of an offset to a number of rows; None if it has none.
OffsetRows = Callable[[str], float | None]

#: The rows of an offset are learned from this many batches; the two halves of them have to agree.
_LEARNED_BATCHES = 10
_HALVES_DIFFER_SHARE = 0.2
#: Rows that may be on either side of a marker.
_HALVES_DIFFER_ROWS = 2.0
#: Fewer rows than this for an offset are not trusted.
_LEAST_ROWS_PER_OFFSET = 0.25
#: A counter that began again is believed to have begun at 0 if it is not above this many times the largest growth of
#: all counters in a recent batch.
_BELIEVED_GROWTHS = 2.0
_GROWTHS_KEPT = 20


@dataclass(frozen=True, slots=True)
class Position:
    """Rows of the sources when a batch was planned."""

    #: Offered since the query started. It falls, to less than 1, where the rows since the batch before are unknown.
    offered: float
    #: Offered, but not included in this batch or an earlier one.
    backlog: float


class _Read(NamedTuple):
    """What a batch read of a source."""

    rows: float
    #: The same by its offsets.
    counted: float


@dataclass(slots=True)
class Source:
    """One source of one run of a query.

    Its position is unknown if its kind is uncertain and a batch contradicts it. If that happens before a batch has
    confirmed the kind, the position stays unknown.
    """

    #: Its name in messages.
    label: str
    #: Converts its offsets to rows; None to use the table of kinds.
    offset_rows: OffsetRows | None
    #: Reason why its rows are unknown; None if they are known.
    problem: Problem | None = None
    #: What the newest batch showed although the rows are known.
    notes: list[Problem] = field(default_factory=list)
    #: Rows offered so far.
    offered: float = 0.0
    #: Whether it is unknown how many rows came since the batch before.
    is_restarted: bool = False
    #: Rows that the newest batch read more than once.
    repeated_rows: float = 0.0
    #: How often the newest batch read each row, at least once.
    _reads: float = 1.0
    _is_confirmed: bool = False
    _contradiction: Problem | None = None
    _latest: dict[str, float] | None = None
    _growths: deque[float] = field(default_factory=lambda: deque(maxlen=_GROWTHS_KEPT))
    #: Newest batches that ended near the latest offset, and others: old rows may be compacted or deleted.
    _near: deque[_Read] = field(default_factory=lambda: deque(maxlen=_LEARNED_BATCHES))
    _behind: deque[_Read] = field(default_factory=lambda: deque(maxlen=_LEARNED_BATCHES))

    def backlog(self, report: Mapping[str, Any], rows: int) -> float | None:
        """Add a batch, and return the rows that wait after it; None if the position is unknown."""
        self.notes, self.problem, self.repeated_rows, self.is_restarted = [], None, 0.0, False
        start, end, latest = (parse_offset(report.get(name)) for name in ("startOffset", "endOffset", "latestOffset"))
        description = str(report.get("description") or "")
        kind = kind_of(end, description) if self.offset_rows is None else None
        begun, done, known = (self._counts(offset, description, kind) for offset in (start, end, latest))
        if done is None:
            self.problem = self._uncounted(kind, end)
            return None
        counted = _difference(done, begun)
        is_certain = kind is None or kind.is_certain
        if is_certain:
            self._note_repeated(rows, counted)
        elif not self._is_believed(done, counted, rows):
            self.problem = self._contradiction
            return None
        if known is None:
            self.problem = self._uncounted(kind, end)
            return None
        waiting = _difference(known, done)
        if counted and waiting is not None:
            batches = self._near if waiting <= counted else self._behind
            batches.append(_Read(min(rows, counted), counted))
        ratio = self._rows_per_offset()
        if ratio is not None:
            self._follow(begun, done, known, rows, ratio)
        if waiting is None and not self.notes:  # a counter restarted after the batch was planned
            self.problem = self.problem or self._restarted(_restarted_counters(known, done))
        if ratio is None or waiting is None or not (is_certain or self._is_confirmed):
            return None
        return waiting * ratio

    def _counts(self, offset: object, description: str, kind: SourceKind | None) -> Counts | None:
        if offset is None:
            return None
        if self.offset_rows is not None:
            rows = self.offset_rows(json.dumps(offset))
            return None if rows is None else {"": rows}
        return (kind.counts(offset, description) or None) if kind is not None else None

    def _uncounted(self, kind: SourceKind | None, end: object) -> Problem:
        if self.offset_rows is not None and self._counts(end, "", None) is None:
            return Problem("offset-rows-missing", {"source": self.label})
        if self.offset_rows is None and kind is None:
            return Problem("source-kind-unknown", {"source": self.label, "offset": json.dumps(end)[:80]})
        return Problem("source-offset-missing" if kind is None else kind.code, {"source": self.label})

    def _note_repeated(self, rows: int, counted: float | None) -> None:
        """Note a batch that read more rows than its offsets count, or than those before it show if they restarted."""
        if counted:
            self._reads = max(1.0, rows / counted)
        self.repeated_rows = rows - (rows / self._reads if counted is None else min(rows, counted))
        if self.repeated_rows and counted is not None:
            self._contradiction = self._contradiction or Problem(
                "source-rows-repeated", {"source": self.label, "rows": rows, "counted": counted}
            )
            self.notes.append(self._contradiction)

    def _is_believed(self, done: Counts, counted: float | None, rows: int) -> bool:
        """Return whether the offsets of an uncertain kind count rows; remember a contradiction."""
        if is_time(done):
            self._contradiction = Problem("source-offset-is-time", {"source": self.label})
        if self._contradiction and not self._is_confirmed:
            return False
        if counted is None:
            return True
        if counted != rows:
            self._contradiction = self._contradiction or Problem(
                "source-rows-differ", {"source": self.label, "rows": rows, "counted": counted}
            )
            return False
        self._is_confirmed = self._is_confirmed or rows > 0
        return True

    def _rows_per_offset(self) -> float | None:
        """Return the rows that an offset stands for: fewer than one with markers of transactions, or compaction."""
        batches = list(self._near or self._behind)
        if not batches:
            return 1.0
        half = len(batches) // 2
        halves = [_sum_of(part) for part in (batches[:half], batches[half:]) if part]
        ratios = [each.rows / each.counted for each in halves]
        slack = _HALVES_DIFFER_SHARE * max(ratios) + _HALVES_DIFFER_ROWS / min(each.counted for each in halves)
        total = _sum_of(batches)
        ratio = total.rows / total.counted
        if ratio >= _LEAST_ROWS_PER_OFFSET and max(ratios) - min(ratios) <= slack:
            return ratio
        fields = {"source": self.label, "batches": len(batches), "rows": total.rows, "counted": total.counted}
        self.problem = Problem("source-rows-uneven", fields)
        return None

    def _follow(self, begun: Counts | None, done: Counts, known: Counts, rows: int, ratio: float) -> None:
        """Add what came since the batch before."""
        is_first = self._latest is None
        before = self._latest if self._latest is not None else dict(done if begun is None else begun)
        fresh = _restarted_counters(known, before)
        growth = sum(count - before[name] for name, count in known.items() if name not in fresh)
        if fresh:
            self.notes.append(self._restarted(fresh))
            since = sum(known[name] for name in fresh)
            self.is_restarted = since > _BELIEVED_GROWTHS * max(self._growths, default=0.0)
            growth += 0.0 if self.is_restarted else since
        elif not is_first:
            self._growths.append(growth)
        self.offered += growth * ratio + (rows - self.repeated_rows if is_first and begun is None else 0.0)
        self._latest = {**before, **known}

    def _restarted(self, names: Sequence[str]) -> Problem:
        topics = ", ".join(sorted({name.rpartition("/")[0] or name for name in names}))
        fields = {"source": self.label, "topics": topics[:120], "partitions": len(names)}
        return Problem("source-counter-restarted", fields)


def _restarted_counters(later: Counts, earlier: Counts) -> list[str]:
    """Return the counters that are new, or fell."""
    return [name for name, count in later.items() if not earlier.get(name, count + 1) <= count]


def _difference(later: Counts, earlier: Counts | None) -> float | None:
    """Return the sum of the growth of all counters; None if one is new, or fell."""
    if earlier is None or _restarted_counters(later, earlier):
        return None
    return sum(count - earlier[name] for name, count in later.items())


def _sum_of(batches: Sequence[_Read]) -> _Read:
    return _Read(sum(each.rows for each in batches), sum(each.counted for each in batches))


def partitions_of(reports: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the number of partitions of all sources in a progress report; None if one is unknown.

    Examples
    --------
    >>> topics = {"rides": {"0": 7, "1": 5}, "zones": {"0": 3}}
    >>> partitions_of([{"description": "KafkaV2[Subscribe[rides, zones]]", "latestOffset": topics}])
    3
    """
    counts = [_count_partitions(report) for report in reports]
    known = [count for count in counts if count]
    return sum(known) if known and len(known) == len(counts) else None


def _count_partitions(report: Mapping[str, Any]) -> int | None:
    offset, description = _latest_offset(report), str(report.get("description") or "")
    kind = kind_of(offset, description)
    return None if kind is None else kind.partitions(offset, description)


def end_offset_rows(reports: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the sum of the end offsets of the topics of the only source; None if there is another one.

    A topic that a query reads by two sources would count twice.

    Examples
    --------
    >>> end_offset_rows([{"description": "KafkaV2[Subscribe[rides]]", "latestOffset": {"rides": {"0": 123, "1": 77}}}])
    200.0
    """
    if len(reports) != 1:
        return None
    offset = parse_offset(reports[0].get("latestOffset"))
    kind = kind_of(offset, str(reports[0].get("description") or ""))
    return sum_of_numbers(offset) if kind is not None and kind.name == KAFKA else None


def _latest_offset(report: Mapping[str, Any]) -> object:
    latest = parse_offset(report.get("latestOffset"))
    return parse_offset(report.get("endOffset")) if latest is None else latest


@dataclass(slots=True)
class Sources:
    """All sources of one run of a query."""

    #: Converts an offset to rows; None to use the table of kinds.
    offset_rows: OffsetRows | None = None
    _known: list[Source] = field(default_factory=list)
    _total: float = 1.0

    @property
    def problems(self) -> list[Problem]:
        """Problem of each source whose rows are unknown, and what else the newest batch showed."""
        return [each for source in self._known for each in (source.problem, *source.notes) if each is not None]

    @property
    def repeated_rows(self) -> int:
        """Rows that the newest batch read more than once, as `foreachBatch` with two actions does."""
        return round(sum(source.repeated_rows for source in self._known))

    def position(self, reports: Sequence[Mapping[str, Any]], rows: int) -> Position | None:
        """Return the total position of all sources; None if one is unknown."""
        if len(self._known) != len(reports):
            self._known = [
                Source(_label(number, report, len(reports)), self.offset_rows)
                for number, report in enumerate(reports, 1)
            ]
        waiting = [
            source.backlog(report, int(report.get("numInputRows", rows)))
            for source, report in zip(self._known, reports, strict=True)
        ]
        if any(source.is_restarted for source in self._known):
            for source in self._known:
                source.offered = 0.0
            self._known[0].offered = min(1.0, self._total) / 2  # less than before, even if it has just restarted
        self._total = sum(source.offered for source in self._known)
        known = [each for each in waiting if each is not None]
        if not known or len(known) < len(waiting):
            return None
        return Position(offered=round(self._total, 3), backlog=round(sum(known), 3))


def _label(number: int, report: Mapping[str, Any], count: int) -> str:
    name = str(report.get("description") or "").partition("@")[0].rpartition(".python.")[2][:120]
    which = "the source" if count == 1 else f"source {number} of {count}"
    return f"{which} {name}".strip()
