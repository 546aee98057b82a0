"""The survey of the samples of a file: median, loss, age, unit and direction.

Repeated samples of a pair are measurements: their median is the delay, and the oldest of those that have a delay is the
age of the survey. A probe with total loss has no delay, whatever else the file states for it. Measurements are never
replaced by detours. The delays are those of links, whose shortest paths are computed, if the caller says so, or if the
file is a graph that has each pair at most once, without times and loss, for less than `NEARLY_COMPLETE_RATIO` of the
pairs: who measures all pairs misses a few, who draws a network leaves most of them out.
"""

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gesscale.common.errors import Problem
from latency_map.delays import (
    MAX_RTT_MS,
    MS_PER_UNIT,
    TRIPS,
    Delays,
    convert_to_round_trips,
    count_differing,
    find_out_of_range,
)
from latency_map.errors import LatencyMapError, error_of
from latency_map.formats.samples import Block, DelaySample, Readings
from latency_map.formats.source import ImportOptions, MapSource, check_file_names
from latency_map.kinds import DelayKind, DelayUnit, MapFormat
from latency_map.names import find_name_fault
from latency_map.paths import shortest_paths
from latency_map.plausibility import find_implausible
from latency_map.survey import Mask, Survey

#: Share of the pairs with a delay from which on a graph has measurements.
NEARLY_COMPLETE_RATIO = 0.8

#: Relative difference up to which a link is as long as a path.
_ROUNDING_RATIO = 1e-9

#: Warnings of single samples, which the median of a pair may hide.
_OF_SAMPLES = ("map-zero-delays", "map-delays-as-lost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A survey, and how its text was interpreted."""

    #: The round trips.
    survey: Survey
    #: The detected format and the evidence (map_format, reason).
    map_format: MapFormat
    reason: str
    #: Unit and direction of its delays, as the text or the caller states them (unit, kind).
    unit: DelayUnit
    kind: DelayKind
    #: Notes on the interpretation of the text.
    notes: tuple[Problem, ...] = ()
    #: Doubts about the delays.
    warnings: tuple[Problem, ...] = ()


def collect(
    source: MapSource,
    readings: Readings,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    options: ImportOptions,
    *,
    map_format: MapFormat,
    reason: str,
) -> Imported:
    """Return the survey of the delays of a file, whose unit and direction the caller may overrule.

    Raises
    ------
    LatencyMapError
        A delay is out of range, or unit or direction are not stated, or stated twice and differ.
    """
    meaning = _Meaning(source.name, readings, unit, kind)
    collector = _Collector(source, meaning, readings)
    extremes: list[Delays] = []
    if isinstance(readings.samples, Block):
        names, values = readings.samples.names, _converted(source.name, readings.samples, meaning)
    else:
        collector.add(readings.samples)
        names, values, *extremes = collector.result(options.names)
    unit, kind = meaning.resolved()
    notes = [*readings.notes, *collector.notes()]
    network = readings.graph and not collector.repeated and not collector.with_loss and collector.oldest_s is None
    complete = _pairs(~np.isnan(values)) >= NEARLY_COMPLETE_RATIO * len(names) * (len(names) - 1) / 2
    if options.links or (options.links is None and network and not complete):
        links = extremes[0] if extremes else values
        if not readings.directed:
            links = np.where(np.isnan(links), links.T, links)
        values = shortest_paths(links)
        notes = [note for note in notes if note.code != "import-medians-taken"]
        replaced = _pairs(values < links * (1 - _ROUNDING_RATIO))
        notes.append(Problem("import-paths-computed", {"links": _pairs(~np.isnan(links)), "replaced": replaced}))
    elif readings.graph:
        notes.append(Problem("import-graph-measured"))
    one_way_ms = values.copy() if kind is DelayKind.ONE_WAY else None
    if kind is DelayKind.ONE_WAY:
        notes.append(Problem("import-delays-combined", {"asymmetric_pairs": count_differing(values)}))
    convert_to_round_trips(values, unit=DelayUnit.MS, kind=kind)
    to_itself = values.diagonal()
    np.fill_diagonal(values, np.where(np.isnan(to_itself), 0.0, to_itself))
    values += 0.0  # -0.0 becomes 0.0
    values.setflags(write=False)
    survey = Survey(names=names, rtt_ms=values, measured_at_s=collector.oldest_s, origin=source.name)
    warnings = [*meaning.overruled, *readings.warnings, *find_implausible(survey, unit=unit, one_way_ms=one_way_ms)]
    for extreme in extremes if collector.repeated else ():  # beside other delays, if only of the way back
        hidden = Survey(names=names, rtt_ms=np.where(np.isnan(extreme), extremes[0].T, extreme))
        found = {each.code for each in warnings}
        warnings += [
            each for each in find_implausible(hidden, unit=unit) if each.code in _OF_SAMPLES and each.code not in found
        ]
    return Imported(
        survey=survey,
        map_format=map_format,
        reason=reason,
        unit=unit,
        kind=kind,
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


class _Meaning:
    """Unit and direction of the delays of a file, as the caller, the file or its samples state them."""

    def __init__(self, source: str, readings: Readings, unit: DelayUnit | None, kind: DelayKind | None) -> None:
        self._source = source
        self._given_unit, self._unit, self._kind = unit, unit or readings.unit, kind or readings.kind
        self._units: set[DelayUnit] = set()
        #: A warning for each statement of the file that the caller overrules.
        self.overruled = [
            Problem(
                code, {"stated": str(stated), "stated_at": readings.stated_at, "given": str(given), "option": option}
            )
            for code, option, given, stated in (
                ("map-unit-overruled", "--unit", unit, readings.unit),
                ("map-kind-overruled", "--kind", kind, readings.kind),
            )
            if given is not None and stated is not None and given != stated
        ]

    def scale(self, unit: DelayUnit | None, kind: DelayKind | None, place: str) -> tuple[float, float, float, str]:
        """Return the conversion to ms of a sample that states these: factor, divisor, largest delay and unit."""
        for code, option, stated, given in (
            ("map-unit-conflict", "--unit", unit, self._given_unit),
            ("map-kind-conflict", "--kind", kind, self._kind),
        ):
            if stated is not None and given not in (None, stated):
                problem = Problem(code, {"stated": str(stated), "given": str(given), "option": option})
                raise error_of(problem, source=self._source, place=place)
        self._kind = self._kind or kind
        unit = unit or self._unit
        if unit is None and self._units:
            raise LatencyMapError("map-units-mixed", source=self._source, place=place)
        self._units |= {unit} if unit is not None else set()
        known_unit, known_kind = self.resolved(unit)
        times, over = MS_PER_UNIT[known_unit]
        return times, over, MAX_RTT_MS / (times / over) / TRIPS[known_kind], known_unit.value

    def resolved(self, unit: DelayUnit | None = None) -> tuple[DelayUnit, DelayKind]:
        """Return unit and direction; raise LatencyMapError if one is not stated."""
        if unit is None and self._units:
            unit = next(iter(self._units)) if len(self._units) == 1 else DelayUnit.MS
        unit = unit or self._unit
        if unit is not None and self._kind is not None:
            return unit, self._kind
        missing = [Problem("map-unit-missing", {"option": "--unit"})] if unit is None else []
        missing += [Problem("map-kind-missing", {"option": "--kind"})] if self._kind is None else []
        raise error_of(*missing, source=self._source)


class _Collector:
    """The samples of a file by pair, in ms."""

    def __init__(self, source: MapSource, meaning: _Meaning, readings: Readings) -> None:
        self._source, self._limits = source.name, source.limits
        self._meaning, self._readings = meaning, readings
        self._numbers: dict[str, int] = {}
        self._from, self._to, self._delays = array("i"), array("i"), array("d")
        self._missing = self._lost = self._contradicting = self._loops = 0
        #: Largest number of delays of one pair, if any pair has several.
        self.repeated = 0
        self.with_loss = False
        self.oldest_s: float | None = None

    def add(self, samples: Iterable[DelaySample]) -> None:
        """Add samples; raise LatencyMapError if there is none, or one is not valid."""
        for name in self._readings.names:
            self._number(name, "")
        numbers, skip_loops, is_nan = self._numbers, self._readings.graph, math.isnan
        add_from, add_to, add_delay = self._from.append, self._to.append, self._delays.append
        last: tuple[DelayUnit | None, DelayKind | None] | None = None
        times = over = limit = 0.0
        named = source = ""
        for source, target, delay, place, unit, kind, loss_ratio, at_s in samples:
            a = numbers[source] if source in numbers else self._number(source, place)
            b = numbers[target] if target in numbers else self._number(target, place)
            if (loss_ratio is not None and self._is_lost(loss_ratio, delay)) or is_nan(delay):
                self._missing += 1
                continue
            if (unit, kind) != last:
                times, over, limit, named = self._meaning.scale(unit, kind, place)
                last = unit, kind
            if not 0 <= delay <= limit:
                problem = Problem("map-delay-invalid", {"limit": limit, "unit": named, "got": delay})
                raise error_of(problem, source=self._source, place=f"{place}, {source} to {target}")
            if skip_loops and a == b:
                self._loops += 1
                continue
            if at_s is not None and (self.oldest_s is None or at_s < self.oldest_s):
                self.oldest_s = at_s
            add_from(a)
            add_to(b)
            add_delay(delay * times / over)
        if not source:
            raise LatencyMapError("map-empty", source=self._source, expected="rows of delays")

    def _is_lost(self, loss_ratio: float, delay: float) -> bool:
        self.with_loss = True
        if loss_ratio < 1:
            return False
        self._lost += 1
        self._contradicting += not math.isnan(delay)
        return True

    def result(self, listed: tuple[str, ...] | None) -> tuple[tuple[str, ...], Delays, Delays, Delays]:
        """Return the names, and the median, least and largest delays in ms, NaN where a pair has none.

        Nodes whose names are all numbers are sorted by number; of listed names, those are taken that they stand for.
        """
        found = list(self._numbers)
        if not self._readings.names and all(map(_is_node_number, found)):
            found.sort(key=int)
        names = tuple(found)
        if listed is not None:
            if not all(_is_node_number(name) and 1 <= int(name) <= len(listed) for name in found):
                raise LatencyMapError("map-nodes-unnumbered", source=self._source, names=len(listed))
            names = tuple(listed[int(name) - 1] for name in found)
            check_file_names(self._source, names)
        rank = np.empty(len(found), np.int64)
        rank[[self._numbers[name] for name in found]] = np.arange(len(found))
        return names, *self._statistics(rank)

    def _statistics(self, rank: NDArray[np.int64]) -> tuple[Delays, Delays, Delays]:
        count = len(rank)
        median: Delays = np.full((count, count), np.nan)
        if not self._delays:
            return median, median, median
        pairs = rank[np.frombuffer(self._from, np.int32)]
        pairs *= count  # in place, as these arrays are as long as the file
        pairs += rank[np.frombuffer(self._to, np.int32)]
        figures = np.frombuffer(self._delays)
        median.ravel()[pairs] = figures
        times = np.bincount(pairs)
        if times.max() == 1:
            return median, median, median
        self.repeated = int(times.max())
        least, largest = median.copy(), median.copy()
        several = times[pairs] > 1
        pairs, figures = pairs[several], figures[several]
        by_pair = np.lexsort((figures, pairs))
        pairs, figures = pairs[by_pair], figures[by_pair]
        of_pair, starts, times = np.unique(pairs, return_index=True, return_counts=True)
        low, high = figures[starts + (times - 1) // 2], figures[starts + times // 2]
        median.ravel()[of_pair] = np.where(low == high, low, (low + high) / 2)
        least.ravel()[of_pair], largest.ravel()[of_pair] = figures[starts], figures[starts + times - 1]
        return median, least, largest

    def notes(self) -> list[Problem]:
        """Return notes on repeated, lost and missing samples."""
        medians = {"rows": len(self._delays), "rows_per_pair": self.repeated}
        counts = {
            "import-rows-incomplete": self._missing - self._lost,
            "import-rows-lost": self._lost,
            "import-lost-delays-dropped": self._contradicting,
            "import-loops-skipped": self._loops,
        }
        notes = [Problem("import-medians-taken", medians)] if self.repeated else []
        return notes + [Problem(code, {"count": count}) for code, count in counts.items() if count]

    def _number(self, name: str, place: str) -> int:
        """Return the number of a node, and add it if it is new."""
        number = self._numbers.setdefault(name, len(self._numbers))
        if number == len(self._numbers) - 1:
            place = place.partition(", column")[0]  # that of the delay
            fault = find_name_fault((name,))
            if fault or number == self._limits.nodes:
                problem = fault[1] if fault else self._limits.too_many_nodes()
                raise error_of(problem, source=self._source, place=place)
        return number


def _converted(source: str, block: Block, meaning: _Meaning) -> Delays:
    """Convert the delays of a matrix to ms in place; raise LatencyMapError if one is out of range."""
    unit, kind = meaning.resolved()
    if fault := find_out_of_range(block.values, unit=unit, kind=kind):
        pair = f"{block.names[fault.row]} to {block.names[fault.column]}"
        raise error_of(fault.problem, source=source, place=f"{block.place(fault.row, fault.column)}, {pair}")
    convert_to_round_trips(block.values, unit=unit, kind=DelayKind.RTT)
    return block.values


def _pairs(marked: Mask) -> int:
    """Count the pairs of different nodes that are marked in one direction at least."""
    return int(np.count_nonzero(np.triu(marked | marked.T, 1)))


def _is_node_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) < 10
