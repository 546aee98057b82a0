"""The survey of the samples of a file: median, loss, age, unit and direction.

Repeated samples of a pair are measurements: their median is the delay, and the oldest of those that have a delay is the
age of the survey. A probe with total loss has no delay, whatever else the file states for it. Measurements are never
replaced by detours. The delays are those of links, whose shortest paths are computed if the caller asks for it or the
file is a graph that has each pair at most once, without times and loss, for less than `NEARLY_COMPLETE_RATIO` of the
pairs: who measures all pairs misses a few, who draws a network leaves most of them out.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from gesscale.common.errors import Problem
from latency_map import delays as figures_of
from latency_map.delays import TRIPS, Delays, convert_to_round_trips, find_out_of_range
from latency_map.errors import LatencyMapError, error_of
from latency_map.formats.samples import Block, DelaySample, Readings
from latency_map.formats.source import MapSource
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
    are_links: bool | None,
    read_as: tuple[MapFormat, str],
) -> Imported:
    """Return the survey of the delays of a file, whose unit and direction the caller may overrule.

    Raises
    ------
    LatencyMapError
        A delay is out of range, or unit or direction are not stated, or stated twice and differ.
    """
    doubts = [
        Problem(code, {"stated": str(stated), "stated_at": readings.stated_at, "given": str(given), "option": option})
        for code, option, given, stated in (
            ("map-unit-overruled", "--unit", unit, readings.unit),
            ("map-kind-overruled", "--kind", kind, readings.kind),
        )
        if given is not None and stated is not None and given != stated
    ]
    collector = _Collector(source, readings, unit, unit or readings.unit, kind or readings.kind)
    if isinstance(readings.samples, Block):
        names, values = readings.samples.names, collector.converted(readings.samples)
        least = largest = values
    else:
        collector.add(readings.samples)
        names, values, least, largest = collector.result()
    unit, kind = collector.meaning()
    remarks = [*readings.notes, *collector.notes()]
    network = readings.graph and not collector.repeated and not collector.with_loss and collector.oldest_s is None
    complete = _pairs(~np.isnan(values)) >= NEARLY_COMPLETE_RATIO * len(names) * (len(names) - 1) / 2
    if are_links or (are_links is None and network and not complete):
        links = least if readings.directed else np.where(np.isnan(least), least.T, least)
        values = shortest_paths(links)
        remarks = [note for note in remarks if note.code != "import-medians-taken"]
        replaced = _pairs(values < links * (1 - _ROUNDING_RATIO))
        computed = Problem("import-paths-computed", {"links": _pairs(~np.isnan(links)), "replaced": replaced})
        (doubts if replaced else remarks).append(computed)
    elif readings.graph:
        remarks.append(Problem("import-graph-measured"))
    one_way_ms = values.copy() if kind is DelayKind.ONE_WAY else None
    if kind is DelayKind.ONE_WAY:
        remarks.append(Problem("import-delays-combined", {"asymmetric_pairs": figures_of.count_differing(values)}))
    convert_to_round_trips(values, unit=DelayUnit.MS, kind=kind)
    to_itself = values.diagonal()
    np.fill_diagonal(values, np.where(np.isnan(to_itself), 0.0, to_itself))
    values += 0.0  # -0.0 becomes 0.0
    values.setflags(write=False)
    survey = Survey(names=names, rtt_ms=values, measured_at_s=collector.oldest_s, origin=source.name)
    doubts += [*readings.warnings, *find_implausible(survey, unit=unit, one_way_ms=one_way_ms)]
    for extreme in (least, largest) if collector.repeated else ():  # which other delays of the pair hide
        hidden = find_implausible(Survey(names=names, rtt_ms=np.where(np.isnan(extreme), least.T, extreme)), unit=unit)
        known = {each.code for each in doubts}
        doubts += [each for each in hidden if each.code in _OF_SAMPLES and each.code not in known]
    (map_format, reason), notes, warnings = read_as, tuple(remarks), tuple(doubts)
    return Imported(
        survey=survey, map_format=map_format, reason=reason, unit=unit, kind=kind, notes=notes, warnings=warnings
    )


@dataclass(slots=True)
class _Collector:
    """The samples of a file by pair, in ms."""

    source: MapSource
    readings: Readings
    #: Unit that the caller states, unit and direction that hold for samples without theirs; None if unknown.
    given: DelayUnit | None
    unit: DelayUnit | None
    kind: DelayKind | None
    units: set[DelayUnit] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    #: Numbers of the two nodes and the delay of each sample that has one.
    starts: "array[int]" = field(default_factory=lambda: array("i"))
    ends: "array[int]" = field(default_factory=lambda: array("i"))
    delays: "array[float]" = field(default_factory=lambda: array("d"))
    counts: Counter[str] = field(default_factory=Counter)
    #: Largest number of delays of one pair, if any pair has several.
    repeated: int = 0
    with_loss: bool = False
    oldest_s: float | None = None

    def add(self, samples: Iterable[DelaySample]) -> None:
        """Add samples; raise LatencyMapError if there is none, or one is not valid."""
        for name in self.readings.names:
            self._number(name, "")
        numbers, skip_loops, is_nan = self.numbers, self.readings.graph, math.isnan
        add_start, add_end, add_delay = self.starts.append, self.ends.append, self.delays.append
        last: DelayUnit | str | None = ""
        times = over = limit = 0.0
        source = ""
        for source, target, delay, place, unit, loss_ratio, at_s in samples:
            a = numbers[source] if source in numbers else self._number(source, place)
            b = numbers[target] if target in numbers else self._number(target, place)
            if (loss_ratio is not None and self._is_lost(loss_ratio, delay)) or is_nan(delay):
                self.counts["import-rows-incomplete"] += loss_ratio is None or loss_ratio < 1
                continue
            if unit != last:
                times, over, limit = self._scale(unit, place)
                last = unit
            if not 0 <= delay <= limit:
                problem = Problem("map-delay-invalid", {"limit": limit, "unit": unit or self.unit, "got": delay})
                raise error_of(problem, source=self.source.name, place=f"{place}, {source} to {target}")
            if skip_loops and a == b:
                self.counts["import-loops-skipped"] += 1
                continue
            if at_s is not None and (self.oldest_s is None or at_s < self.oldest_s):
                self.oldest_s = at_s
            add_start(a)
            add_end(b)
            add_delay(delay * times / over)
        if not source:
            raise LatencyMapError("map-empty", source=self.source.name, expected="rows of delays")

    def _is_lost(self, loss_ratio: float, delay: float) -> bool:
        self.with_loss = True
        if loss_ratio < 1:
            return False
        self.counts["import-rows-lost"] += 1
        self.counts["import-lost-delays-dropped"] += not math.isnan(delay)
        return True

    def _scale(self, unit: DelayUnit | None, place: str) -> tuple[float, float, float]:
        """Return the conversion to ms of samples that state a unit: factor, divisor and largest delay."""
        if unit is not None and self.given not in (None, unit):
            problem = Problem("map-unit-conflict", {"stated": unit.value, "given": str(self.given), "option": "--unit"})
            raise error_of(problem, source=self.source.name, place=place)
        unit = unit or self.unit
        if unit is None and self.units:
            raise LatencyMapError("map-units-mixed", source=self.source.name, place=place)
        self.units |= {unit} if unit is not None else set()
        _, kind = self.meaning()
        times, over = figures_of.MS_PER_UNIT[unit or DelayUnit.MS]
        return times, over, figures_of.MAX_RTT_MS / (times / over) / TRIPS[kind]

    def meaning(self) -> tuple[DelayUnit, DelayKind]:
        """Return unit and direction, ms if units differ; raise LatencyMapError if one is not stated."""
        unit = next(iter(self.units), self.unit) if len(self.units) < 2 else DelayUnit.MS
        if unit is not None and self.kind is not None:
            return unit, self.kind
        missing = [Problem("map-unit-missing", {"option": "--unit"})] if unit is None else []
        missing += [Problem("map-kind-missing", {"option": "--kind"})] if self.kind is None else []
        raise error_of(*missing, source=self.source.name)

    def converted(self, block: Block) -> Delays:
        """Convert the delays of a matrix to ms in place; raise LatencyMapError if one is out of range."""
        unit, kind = self.meaning()
        if fault := find_out_of_range(block.values, unit=unit, kind=kind):
            pair = f"{block.place(fault.row, fault.column)}, {block.names[fault.row]} to {block.names[fault.column]}"
            raise error_of(fault.problem, source=self.source.name, place=pair)
        convert_to_round_trips(block.values, unit=unit, kind=DelayKind.RTT)
        return block.values

    def result(self) -> tuple[tuple[str, ...], Delays, Delays, Delays]:
        """Return the names, and the median, least and largest delays in ms, NaN where a pair has none."""
        names, count = tuple(self.numbers), len(self.numbers)
        pairs = np.frombuffer(self.starts, np.int32).astype(np.int64)
        pairs *= count  # in place, as these arrays are as long as the file
        pairs += np.frombuffer(self.ends, np.int32)
        figures = np.frombuffer(self.delays)
        median: Delays = np.full((count, count), np.nan)
        median.ravel()[pairs] = figures
        if (most := int(np.bincount(pairs, minlength=1).max())) <= 1:
            return names, median, median, median
        self.repeated = most
        order = np.lexsort((figures, pairs))
        pairs, figures = pairs[order], figures[order]
        first = np.flatnonzero(np.diff(pairs, prepend=-1))
        times = np.diff(first, append=len(pairs))
        least, largest = median.copy(), median.copy()
        least.ravel()[pairs[first]], largest.ravel()[pairs[first]] = figures[first], figures[first + times - 1]
        median.ravel()[pairs[first]] = (figures[first + (times - 1) // 2] + figures[first + times // 2]) / 2
        return names, median, least, largest

    def notes(self) -> list[Problem]:
        """Return notes on repeated, lost and missing samples."""
        medians = {"rows": len(self.delays), "rows_per_pair": self.repeated}
        notes = [Problem("import-medians-taken", medians)] if self.repeated else []
        return notes + [Problem(code, {"count": count}) for code, count in self.counts.items() if count]

    def _number(self, name: str, place: str) -> int:
        """Return the number of a node, and add it if it is new."""
        number = self.numbers.setdefault(name, len(self.numbers))
        if number == len(self.numbers) - 1:
            place = place.partition(", column")[0]  # that of the delay
            fault, limits = find_name_fault((name,)), self.source.limits
            if fault or number == limits.nodes:
                problem = fault[1] if fault else limits.too_many_nodes()
                raise error_of(problem, source=self.source.name, place=place)
        return number


def _pairs(marked: Mask) -> int:
    """Count the pairs of different nodes that are marked in one direction at least."""
    return int(np.count_nonzero(np.triu(marked | marked.T, 1)))
