"""A survey of the measurements of many agents, from their own pages or from a Prometheus server."""

import io
import math
import time
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TextIO, cast

import numpy as np

from gesscale.common.errors import Problem
from gesscale.common.http_client import UNRESTRICTED_CLIENT, FetchError
from gesscale.common.threads import in_thread
from latency_map.delays import MAX_RTT_MS, Delays
from latency_map.errors import LatencyMapError, error_of
from latency_map.grid import Grid
from latency_map.kinds import DelayUnit
from latency_map.limits import DEFAULT_LIMITS, MapLimits
from latency_map.measure.gauges import MEASURED_TIMESTAMP_SECONDS, PREFIX, RTT_SECONDS, SOURCE, TARGET
from latency_map.names import MAX_NODES, find_name_fault
from latency_map.plausibility import find_implausible
from latency_map.survey import Survey

_MAX_CONCURRENT = 64
_MAX_CONCURRENT_BYTES = 48_000_000
_MAX_LINE_BYTES = 4096
_PREFIX = PREFIX.encode()
#: Time limit for all agents together; a step of the controller of 300 s counts as stuck.
_MAX_S = 120.0
_FIGURES = (RTT_SECONDS, MEASURED_TIMESTAMP_SECONDS)
_COLUMNS = {name: column for column, name in enumerate(_FIGURES)}
_TIMESTAMP = _COLUMNS[MEASURED_TIMESTAMP_SECONDS]
_NOT_OF_AGENTS = frozenset(("__name__", SOURCE, TARGET))
_EMPTY = array("d", [math.nan] * len(_FIGURES))
_UNDATED = -1.0
_RENAMED = "exported_"
#: Largest difference of two figures of one pair and time: their windows may end at different probes.
_SAME_TIME_RATIO = 0.1
_NAMED = 3
_KEY_BASE = MAX_NODES + 2
_MS = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GaugeSample:
    """One sample of Prometheus."""

    #: Name of the metric, such as ``gesscale_latency_rtt_seconds``.
    name: str
    #: ``source`` and ``target`` are names of nodes; the other labels identify the agent. A Prometheus server that has
    #: labels of these names for its targets calls those of the agent ``exported_source`` and ``exported_target``.
    labels: Mapping[str, str]
    #: In the base unit of the name.
    value: float


class SampleCollector:
    """Collects the newest sample of each pair.

    Parameters
    ----------
    nodes
        The nodes to accept, all others are skipped; None for any.
    """

    def __init__(self, limits: MapLimits, nodes: Collection[str] | None = None) -> None:
        self._grid = Grid("agents", limits, _FIGURES)
        self._limits, self._nodes = limits, nodes
        self._skipped, self._first_skipped = 0, ""
        self._contradicting: set[tuple[int, int]] = set()

    def warnings(self) -> Iterator[Problem]:
        """Yield warnings about samples that were not used."""
        if self._skipped:
            yield Problem("agents-unknown-nodes", {"count": self._skipped, "first": self._first_skipped})
        if self._contradicting:
            yield self._contradiction()

    def add(self, samples: Iterable[GaugeSample]) -> int:
        """Add the samples of one agent or one Prometheus server, and return their number; add none if it raises.

        Raises
        ------
        LatencyMapError
            There are too many nodes or samples.
        """
        claims, count = _Claims(self._limits), 0
        for sample in samples:
            if not sample.name.startswith(PREFIX):
                continue
            count += 1
            ends = (_label_of_agent(sample.labels, end) for end in (SOURCE, TARGET))
            names = [sample.labels[end] for end in ends if end in sample.labels]
            if self._accepts(names):
                claims.add(names, sample)
        numbers = [self._grid.number(name) for name in claims.nodes]
        for a, b, figures in claims.all():
            self._store_if_newer(numbers[a], numbers[b], figures)
        return count

    def survey(self, now_s: float | None) -> Survey:
        """Return the survey after all samples were added.

        Parameters
        ----------
        now_s
            The current time in seconds since the epoch: the upper bound of the time of measurement, since a clock may
            be ahead. None for no bound.

        Raises
        ------
        LatencyMapError
            There is no round trip among the samples, or all contradict each other.
        """
        names = tuple(sorted(self._grid.numbers))
        rtt_ms, when = map(self._grid.finish, _FIGURES)
        if not names or (len(names) > 1 and not _rows_known(rtt_ms)):
            raise error_of(
                self._contradiction() if self._contradicting else Problem("agents-not-ready", {"nodes": len(names)})
            )
        sources = _rows_known(when)
        measured_at_s = _oldest_s(when, rtt_ms, now_s)
        del when
        rtt_ms *= _MS
        rtt_ms += 0.0  # -0.0 becomes 0.0
        np.fill_diagonal(rtt_ms, 0.0)
        rtt_ms.setflags(write=False)
        return Survey(
            names=names,
            rtt_ms=rtt_ms,
            measured_at_s=measured_at_s,
            origin=f"measured by agents on {sources} of {len(names)} nodes",
        )

    def _accepts(self, names: Sequence[str]) -> bool:
        if any(name not in self._grid.numbers and find_name_fault([name]) for name in names):
            return False
        other = next((name for name in names if self._nodes is not None and name not in self._nodes), None)
        if other is not None:
            self._skipped += 1
            self._first_skipped = self._first_skipped or other
        return other is None

    def _store_if_newer(self, row: int, column: int, figures: "array[float]") -> None:
        if math.isnan(figures[_TIMESTAMP]):
            figures[_TIMESTAMP] = _UNDATED
        known = self._grid.layers[MEASURED_TIMESTAMP_SECONDS][row, column]
        if figures[_TIMESTAMP] == known and self._differs(row, column, figures[_COLUMNS[RTT_SECONDS]]):
            self._contradicting.add((row, column))
            self._grid.layers[RTT_SECONDS][row, column] = math.nan
        if not figures[_TIMESTAMP] <= known:  # also if no agent has reported the pair
            self._contradicting.discard((row, column))
            for name, figure in zip(_FIGURES, figures, strict=True):
                self._grid.layers[name][row, column] = figure

    def _contradiction(self) -> Problem:
        names, pairs = list(self._grid.numbers), sorted(self._contradicting)
        first = [f"{names[row]} to {names[column]}" for row, column in pairs[:_NAMED]]
        return Problem("agents-contradict", {"count": len(pairs), "pairs": first})

    def _differs(self, row: int, column: int, rtt_s: float) -> bool:
        """Return whether another round trip of the same time is known; False if one of the two is missing."""
        known_s = float(self._grid.layers[RTT_SECONDS][row, column])
        return abs(rtt_s - known_s) > _SAME_TIME_RATIO * max(rtt_s, known_s)


def _label_of_agent(labels: Mapping[str, str], name: str) -> str:
    """Return the name of a label of an agent after each server that has scraped it has put its prefix before it."""
    while f"{_RENAMED}{name}" in labels:
        name = f"{_RENAMED}{name}"
    return name


class _Claims:
    """Samples by agent and pair; about 200 bytes for each pair."""

    def __init__(self, limits: MapLimits) -> None:
        self.nodes: dict[str, int] = {}
        self._limits = limits
        self._agents: dict[tuple[tuple[str, str], ...], int] = {}
        self._slots: dict[int, int] = {}
        self._figures = array("d")

    def add(self, names: Sequence[str], sample: GaugeSample) -> None:
        ends = [self.nodes.setdefault(name, len(self.nodes)) for name in names]
        if len(self.nodes) > self._limits.nodes:
            raise error_of(self._limits.too_many_nodes(), source="agents")
        if len(ends) < 2 or ends[0] == ends[1] or sample.name not in _COLUMNS or not _is_valid(sample):
            return
        agent = tuple(
            sorted(item for item in sample.labels.items() if item[0].replace(_RENAMED, "") not in _NOT_OF_AGENTS)
        )
        number = self._agents.setdefault(agent, len(self._agents))
        if number == self._limits.claiming_agents:
            raise error_of(self._limits.too_large(number, "agents"), source="agents")
        claim = (number * _KEY_BASE + ends[0]) * _KEY_BASE + ends[1]
        slot = self._slots.get(claim)
        if slot is None:
            slot = self._slots[claim] = len(self._figures)
            self._figures.extend(_EMPTY)
            if len(self._slots) > self._limits.claims:
                raise error_of(self._limits.too_large(self._limits.claims, "pairs"), source="agents")
        self._figures[slot + _COLUMNS[sample.name]] = sample.value

    def all(self) -> Iterator[tuple[int, int, "array[float]"]]:
        """Yield the numbers of both ends and the figures of each claim in the order of arrival."""
        for claim, slot in self._slots.items():
            row, column = divmod(claim % _KEY_BASE**2, _KEY_BASE)
            yield row, column, self._figures[slot : slot + len(_FIGURES)]


def _is_valid(sample: GaugeSample) -> bool:
    most = MAX_RTT_MS / _MS if sample.name == RTT_SECONDS else math.inf
    return 0 <= sample.value <= most and math.isfinite(sample.value)


def _rows_known(matrix: Delays) -> int:
    """Count the rows with a known cell."""
    return sum(not np.isnan(row).all() for row in matrix)


def _oldest_s(when: Delays, rtt_ms: Delays, now_s: float | None) -> float | None:
    """Return the time of the oldest round trip; None if none has a time."""
    oldest_s = [
        float(times[dated].min())
        for times, row in zip(when, rtt_ms, strict=True)
        if (dated := (times >= 0) & ~np.isnan(row)).any()
    ]
    if not oldest_s:
        return None
    return min(oldest_s) if now_s is None else min(*oldest_s, now_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredMap:
    """Measurements of agents."""

    #: Their round trips.
    survey: Survey
    #: The agents without measurements, by address, and why.
    unreachable: Mapping[str, Problem] = field(default_factory=dict)
    #: Warnings about samples that were not used, and doubts about the round trips.
    warnings: tuple[Problem, ...] = ()


def gather_agents(
    urls: Sequence[str],
    *,
    now_s: float,
    timeout_s: float,
    fill_missing: bool = True,
    limits: MapLimits = DEFAULT_LIMITS,
    nodes: Collection[str] | None = None,
) -> GatheredMap:
    """Fetch the measurements of agents, at most 64 at a time, fewer if their pages may be long.

    Raises
    ------
    LatencyMapError
        There are no agents or too many, none responds, or none has measured a round trip yet.
    """
    agents = tuple(dict.fromkeys(urls))
    if not agents:
        raise LatencyMapError("agents-missing")
    if len(agents) > limits.nodes:
        raise error_of(limits.too_many_nodes(len(agents)), source="agents")
    collector = SampleCollector(limits, nodes)
    unreachable: dict[str, Problem] = {}
    batch_size = max(1, min(_MAX_CONCURRENT, _MAX_CONCURRENT_BYTES // limits.page_bytes))
    end_s = time.monotonic() + _MAX_S
    for first in range(0, len(agents), batch_size):
        if time.monotonic() > end_s:
            late = Problem("agent-not-fetched", {"limit_s": _MAX_S})
            unreachable |= dict.fromkeys(agents[first:], late)
            break
        for url, page in _pages(agents[first : first + batch_size], timeout_s, limits.page_bytes):
            problem = page if isinstance(page, Problem) else _add_page(page, collector)
            if problem:
                unreachable[url] = problem
    if len(unreachable) == len(agents):
        reasons = [f"{url}: {problem}" for url, problem in unreachable.items()]
        raise LatencyMapError("agents-all-unreachable", count=len(agents), reasons=reasons)
    return _finish(collector, unreachable, fill_missing=fill_missing, now_s=now_s)


def gather_samples(
    samples: Iterable[GaugeSample],
    *,
    fill_missing: bool,
    now_s: float | None = None,
    limits: MapLimits = DEFAULT_LIMITS,
    nodes: Collection[str] | None = None,
) -> GatheredMap:
    """Build a survey of the gauges of agents in a Prometheus server.

    Parameters
    ----------
    nodes
        The nodes to accept, all others are skipped; None for any.

    Raises
    ------
    LatencyMapError
        There is no round trip among the samples, or there are too many nodes.
    """
    collector = SampleCollector(limits, nodes)
    collector.add(samples)
    return _finish(collector, {}, fill_missing=fill_missing, now_s=now_s)


def _finish(
    collector: SampleCollector, unreachable: Mapping[str, Problem], *, fill_missing: bool, now_s: float | None
) -> GatheredMap:
    unused = tuple(collector.warnings())
    survey = collector.survey(now_s)
    if fill_missing:
        survey = _fill(survey)
    warnings = (*unused, *find_implausible(survey, unit=DelayUnit.MS))
    return GatheredMap(survey=survey, unreachable=unreachable, warnings=warnings)


def _fill(survey: Survey) -> Survey:
    from latency_map.kinds import Fill
    from latency_map.quality.repair import Repair, repair

    return repair(survey, Repair(fill=Fill.COORDINATES)).survey


def _pages(urls: Sequence[str], timeout_s: float, page_bytes: int) -> Iterator[tuple[str, bytes | Problem]]:
    """Yield the page of each agent, or the reason why there is none."""
    pending = {url: in_thread(partial(_page, url, timeout_s, page_bytes)) for url in urls}
    for url in urls:
        yield url, pending.pop(url).result()


def _page(url: str, timeout_s: float, page_bytes: int) -> bytes | Problem:
    try:
        return UNRESTRICTED_CLIENT.fetch(f"{url.rstrip('/')}/metrics", timeout_s=timeout_s, max_bytes=page_bytes)
    except FetchError as error:
        return error.problem


def _add_page(page: bytes, collector: SampleCollector) -> Problem | None:
    """Add the samples on the page of an agent; return the problem of an unusable page."""
    try:
        count = collector.add(_samples(page))
    except LatencyMapError:
        raise
    except (ValueError, KeyError, IndexError):  # of the parser, whose texts quote the page
        return Problem("agent-page-invalid")
    return None if count else Problem("agent-samples-missing")


def _samples(page: bytes) -> Iterator[GaugeSample]:
    """Parse the samples of agents line by line; without the lines of types the parser yields each immediately."""
    from prometheus_client.parser import text_fd_to_metric_families

    ours = (line for line in io.BytesIO(page) if line.startswith(_PREFIX))
    for family in text_fd_to_metric_families(cast(TextIO, map(_decoded, ours))):
        for sample in family.samples:
            yield GaugeSample(name=sample.name, labels=sample.labels, value=sample.value)


def _decoded(line: bytes) -> str:
    if len(line) > _MAX_LINE_BYTES:
        raise ValueError(f"expected lines of at most {_MAX_LINE_BYTES} bytes")
    return line.decode()
