"""The survey of the samples of a file: median, loss, age, unit and direction.

Repeated samples of a pair are measurements: their median is the delay, and the oldest of those that have a delay is the
age of the survey. A probe with total loss has no delay, whatever else the file states for it.
"""

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

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
from latency_map.formats.links import is_nearly_complete, shortest_paths
from latency_map.formats.samples import Block, DelaySample, Readings
from latency_map.formats.source import ImportOptions, MapSource, check_file_names
from latency_map.kinds import DelayKind, DelayUnit
from latency_map.names import find_name_fault
from latency_map.plausibility import find_implausible
from latency_map.survey import Survey


@dataclass(frozen=True, slots=True)
class Collected:
    """The survey of a file, with unit and direction of its delays, notes and warnings; milliseconds for mixed units."""

    survey: Survey
    unit: DelayUnit
    kind: DelayKind
    notes: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def collect(
    source: MapSource, readings: Readings, unit: DelayUnit | None, kind: DelayKind | None, options: ImportOptions
) -> Collected:
    """Return the survey of the delays of a file, whose unit and direction the caller may overrule.

    Raises
    ------
    LatencyMapError
        A delay is out of range, or unit or direction are not stated, or stated twice and differ.
    """
    meaning = _Meaning(source.name, readings, unit, kind)
    collector = _Collector(source, meaning, readings)
    if isinstance(readings.samples, Block):
        names, values = readings.samples.names, _converted(source.name, readings.samples, meaning)
    else:
        collector.add(readings.samples)
        order = collector.order()
        names = collector.names(order, options.names)
        values = collector.delays(order, least=options.links is True)
    notes = [*meaning.notes(), *readings.notes, *collector.notes()]
    network = readings.graph and collector.most < 2 and not collector.with_loss and collector.oldest_s is None
    if options.links or (options.links is None and network and not is_nearly_complete(values)):
        values, note = shortest_paths(values, directed=readings.directed or not readings.graph)
        notes.append(note)
    elif readings.graph:
        notes.append(Problem("import-graph-measured"))
    unit, kind = meaning.resolved()
    one_way_ms = values.copy() if kind is DelayKind.ONE_WAY else None
    if kind is DelayKind.ONE_WAY:
        notes.append(Problem("import-delays-combined", {"asymmetric_pairs": count_differing(values)}))
    convert_to_round_trips(values, unit=DelayUnit.MS, kind=kind)
    to_itself = values.diagonal()
    np.fill_diagonal(values, np.where(np.isnan(to_itself), 0.0, to_itself))
    values += 0.0  # -0.0 becomes 0.0
    values.setflags(write=False)
    survey = Survey(names=names, rtt_ms=values, measured_at_s=collector.oldest_s, origin=source.name)
    warnings = (*readings.warnings, *find_implausible(survey, unit=unit, one_way_ms=one_way_ms))
    return Collected(survey=survey, unit=unit, kind=kind, notes=tuple(notes), warnings=warnings)


class _Meaning:
    """Unit and direction of the delays of a file, as the caller, the file or its samples state them."""

    def __init__(self, source: str, readings: Readings, unit: DelayUnit | None, kind: DelayKind | None) -> None:
        self._source, self._readings = source, readings
        self._given_unit, self._given_kind = unit, kind
        self._kind = kind or readings.kind
        self._units: set[DelayUnit] = set()

    def scale(self, unit: DelayUnit | None, kind: DelayKind | None, place: str) -> tuple[float, float, float, str]:
        """Return the conversion to ms of a sample that states these: factor, divisor, largest delay and unit."""
        if unit is not None and self._given_unit not in (None, unit):
            raise self._conflict("map-unit-conflict", "--unit", unit, self._given_unit, place)
        if kind is not None and self._kind not in (None, kind):
            raise self._conflict("map-kind-conflict", "--kind", kind, self._kind, place)
        self._kind = self._kind or kind
        in_force = unit or self._given_unit or self._readings.unit
        if in_force is None and self._units:
            raise LatencyMapError("map-units-mixed", source=self._source, place=place)
        if in_force is None or self._kind is None:
            raise self._missing(in_force)
        self._units.add(in_force)
        times, over = MS_PER_UNIT[in_force]
        return times, over, MAX_RTT_MS / (times / over) / TRIPS[self._kind], in_force.value

    def resolved(self) -> tuple[DelayUnit, DelayKind]:
        """Return unit and direction; raise if one is not stated."""
        unit = self._given_unit or self._readings.unit
        if self._units:
            unit = next(iter(self._units)) if len(self._units) == 1 else DelayUnit.MS
        if unit is None or self._kind is None:
            raise self._missing(unit)
        return unit, self._kind

    def notes(self) -> list[Problem]:
        """Return a note for each statement of the file that the caller overrules."""
        stated_at = self._readings.stated_at
        return [
            Problem(code, {"stated": stated.value, "stated_at": stated_at, "given": given.value, "option": option})
            for code, option, given, stated in (
                ("import-unit-overruled", "--unit", self._given_unit, self._readings.unit),
                ("import-kind-overruled", "--kind", self._given_kind, self._readings.kind),
            )
            if given is not None and stated is not None and given != stated
        ]

    def _missing(self, unit: DelayUnit | None) -> LatencyMapError:
        missing = []
        if unit is None:
            missing.append(Problem("map-unit-missing", {"option": "--unit"}))
        if self._kind is None:
            missing.append(Problem("map-kind-missing", {"option": "--kind"}))
        return error_of(*missing, source=self._source)

    def _conflict(self, code: str, option: str, stated: object, given: object, place: str) -> LatencyMapError:
        fields = {"stated": str(stated), "given": str(given), "option": option}
        return error_of(Problem(code, fields), source=self._source, place=place)


class _Collector:
    """The samples of a file by pair, in ms."""

    def __init__(self, source: MapSource, meaning: _Meaning, readings: Readings) -> None:
        self._source, self._limits = source.name, source.limits
        self._meaning, self._readings = meaning, readings
        self._numbers: dict[str, int] = {}
        self._from, self._to, self._delays = array("i"), array("i"), array("d")
        self._missing = self._lost = self._contradicting = self._loops = 0
        #: Largest number of delays of one pair.
        self.most = 0
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

    def order(self) -> list[int]:
        """Return the numbers of the nodes in their order: that of the file, or by number if all names are numbers."""
        found = list(self._numbers)
        numbered = not self._readings.names and all(map(_is_node_number, found))
        return sorted(range(len(found)), key=lambda node: int(found[node]) if numbered else node)

    def names(self, order: list[int], listed: tuple[str, ...] | None) -> tuple[str, ...]:
        """Return the names in an order; of listed names, those that the numbers in the file stand for."""
        found = list(self._numbers)
        names = tuple(found[node] for node in order)
        if listed is None:
            return names
        if not all(_is_node_number(name) and 1 <= int(name) <= len(listed) for name in names):
            raise LatencyMapError("map-nodes-unnumbered", source=self._source, names=len(listed))
        names = tuple(listed[int(name) - 1] for name in names)
        check_file_names(self._source, names)
        return names

    def delays(self, order: list[int], *, least: bool) -> Delays:
        """Return the median delay of each pair in ms, or the least of parallel links; NaN if it has none."""
        count = len(order)
        delays: Delays = np.full((count, count), np.nan)
        if not self._delays:
            return delays
        rank = np.empty(count, np.int64)
        rank[order] = np.arange(count)
        pairs = rank[np.frombuffer(self._from, np.int32)] * count + rank[np.frombuffer(self._to, np.int32)]
        figures = np.frombuffer(self._delays)
        times = np.bincount(pairs, minlength=count * count)
        self.most = int(times.max())
        once = times[pairs] == 1
        delays.ravel()[pairs[once]] = figures[once]
        if self.most > 1:
            pairs, figures = pairs[~once], figures[~once]
            by_pair = np.lexsort((figures, pairs))
            pairs, figures = pairs[by_pair], figures[by_pair]
            of_pair, starts, times = np.unique(pairs, return_index=True, return_counts=True)
            low, high = figures[starts + (times - 1) // 2], figures[starts + times // 2]
            medians = np.where(low == high, low, (low + high) / 2)
            delays.ravel()[of_pair] = figures[starts] if least else medians
        return delays

    def notes(self) -> list[Problem]:
        """Return notes on repeated, lost and missing samples."""
        counts = {
            "import-rows-incomplete": self._missing - self._lost,
            "import-rows-lost": self._lost,
            "import-lost-delays-dropped": self._contradicting,
            "import-loops-skipped": self._loops,
        }
        notes = [Problem(code, {"count": count}) for code, count in counts.items() if count]
        if self.most > 1:
            notes.insert(0, Problem("import-medians-taken", {"rows": len(self._delays), "rows_per_pair": self.most}))
        return notes

    def _number(self, name: str, place: str) -> int:
        """Return the number of a node, and add it if it is new."""
        if name in self._numbers:
            return self._numbers[name]
        place = place.partition(", column")[0]  # that of the delay
        if fault := find_name_fault((name,)):
            raise error_of(fault[1], source=self._source, place=place)
        if len(self._numbers) == self._limits.nodes:
            raise error_of(self._limits.too_many_nodes(), source=self._source, place=place)
        self._numbers[name] = len(self._numbers)
        return self._numbers[name]


def _converted(source: str, block: Block, meaning: _Meaning) -> Delays:
    """Convert the delays of a matrix to ms in place; raise LatencyMapError if one is out of range."""
    unit, kind = meaning.resolved()
    if fault := find_out_of_range(block.values, unit=unit, kind=kind):
        pair = f"{block.names[fault.row]} to {block.names[fault.column]}"
        raise error_of(fault.problem, source=source, place=f"{block.place(fault.row, fault.column)}, {pair}")
    convert_to_round_trips(block.values, unit=unit, kind=DelayKind.RTT)
    return block.values


def _is_node_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) < 10
