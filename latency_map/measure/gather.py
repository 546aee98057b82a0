"""One survey from what many agents measured: from their own pages, or from a Prometheus server's samples."""

import io
import math
import time
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TextIO, cast

import numpy as np

from gesscale.common.http_client import UNRESTRICTED_CLIENT, FetchError
from gesscale.common.text import format_list, shortened
from gesscale.common.threads import in_thread
from latency_map.delays import MAX_RTT_MS, Delays
from latency_map.errors import LatencyMapError, error_at
from latency_map.grid import Grid
from latency_map.limits import DEFAULT_LIMITS, MapLimits
from latency_map.measure.gauges import MEASURED_TIMESTAMP_SECONDS, PREFIX, RTT_SECONDS, SOURCE, TARGET
from latency_map.names import MAX_NODES, find_name_fault
from latency_map.survey import Survey

_MOST_AT_ONCE = 64
_BYTES_AT_ONCE = 48_000_000
_LONGEST_LINE = 4096
_PREFIX = PREFIX.encode()
#: For all agents together; a step of the controller that lasts for 300 s counts as stuck.
_MOST_S = 120.0
_FIGURES = (RTT_SECONDS, MEASURED_TIMESTAMP_SECONDS)
_PLACES = {name: place for place, name in enumerate(_FIGURES)}
_WHEN = _PLACES[MEASURED_TIMESTAMP_SECONDS]
_NOT_OF_AGENTS = frozenset(("__name__", SOURCE, TARGET))
_NOTHING = array("d", [math.nan] * len(_FIGURES))
_NOT_DATED = -1.0
_ROOM = MAX_NODES + 2
_MS = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GaugeSample:
    """One figure as Prometheus has it."""

    #: Of the metric, such as ``gesscale_latency_rtt_seconds``.
    name: str
    #: ``source`` and ``target`` are names of nodes; others tell one agent from another.
    labels: Mapping[str, str]
    #: In the base unit that the name says.
    value: float


class Gathering:
    """Figures of pairs, the newest claim of each.

    Parameters
    ----------
    nodes
        The only nodes that there may be, all others are left out; None for any.
    """

    def __init__(self, limits: MapLimits, nodes: Collection[str] | None = None) -> None:
        self._grid = Grid("agents", limits, dict.fromkeys(_FIGURES, np.float64(np.nan)))
        self._limits, self._nodes = limits, nodes
        self._left_out, self._first_left_out = 0, ""

    @property
    def left_out(self) -> str:
        """What was left out so far, for people; empty where nothing was."""
        if not self._left_out:
            return ""
        first = shortened(self._first_left_out)
        return f"figures of nodes that the cluster does not have, left out: {self._left_out} (the first of {first})"

    def take(self, samples: Iterable[GaugeSample]) -> int:
        """Take what one agent or one Prometheus server says: all of it or, where that raises, nothing.

        Raises
        ------
        LatencyMapError
            There are too many nodes or figures.
        """
        claims, count = _Claims(self._limits), 0
        for sample in samples:
            if not sample.name.startswith(PREFIX):
                continue
            count += 1
            names = [sample.labels[end] for end in (SOURCE, TARGET) if end in sample.labels]
            if self._may_be(names):
                claims.add(names, sample)
        numbers = [self._grid.number(name) for name in claims.nodes]
        for a, b, figures in claims.all():
            self._keep_newer(numbers[a], numbers[b], figures)
        return count

    def survey(self, now_s: float | None) -> Survey:
        """Return the survey, once all was taken.

        Parameters
        ----------
        now_s
            Seconds since the epoch: what a clock that is ahead says was measured then. None to trust all
            clocks.

        Raises
        ------
        LatencyMapError
            There is no round trip among the figures.
        """
        names = tuple(sorted(self._grid.numbers))
        order = [self._grid.numbers[name] for name in names]
        rtt_ms, when = (self._grid.finish(name, order) for name in _FIGURES)
        if not names or (len(names) > 1 and not _rows_known(rtt_ms)):
            raise LatencyMapError(
                f"agents: expected round trips ({RTT_SECONDS}), got none from {len(names)} nodes; wait for the end"
                " of their first round, and see whether their peers answer"
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

    def _may_be(self, names: Sequence[str]) -> bool:
        if any(name not in self._grid.numbers and find_name_fault([name]) for name in names):
            return False
        other = next((name for name in names if self._nodes is not None and name not in self._nodes), None)
        if other is not None:
            self._left_out += 1
            self._first_left_out = self._first_left_out or other
        return other is None

    def _keep_newer(self, row: int, column: int, figures: "array[float]") -> None:
        if math.isnan(figures[_WHEN]):
            figures[_WHEN] = _NOT_DATED
        known = self._grid.layers[MEASURED_TIMESTAMP_SECONDS][row, column]
        if not figures[_WHEN] <= known:  # also where no agent claimed the pair
            for name, figure in zip(_FIGURES, figures, strict=True):
                self._grid.layers[name][row, column] = figure


class _Claims:
    """Figures of pairs by the agent that claims them; about 200 bytes for each pair."""

    def __init__(self, limits: MapLimits) -> None:
        self.nodes: dict[str, int] = {}
        self._limits = limits
        self._agents: dict[tuple[tuple[str, str], ...], int] = {}
        self._slots: dict[int, int] = {}
        self._figures = array("d")

    def add(self, names: Sequence[str], sample: GaugeSample) -> None:
        ends = [self.nodes.setdefault(name, len(self.nodes)) for name in names]
        if len(self.nodes) > self._limits.nodes:
            raise error_at("agents", "", self._limits.too_many_nodes())
        if len(ends) < 2 or ends[0] == ends[1] or sample.name not in _PLACES or not _can_be(sample):
            return
        agent = tuple(sorted(item for item in sample.labels.items() if item[0] not in _NOT_OF_AGENTS))
        number = self._agents.setdefault(agent, len(self._agents))
        if number == self._limits.claiming_agents:
            raise error_at("agents", "", self._limits.too_long("agents in one answer", number))
        claim = (number * _ROOM + ends[0]) * _ROOM + ends[1]
        slot = self._slots.get(claim)
        if slot is None:
            slot = self._slots[claim] = len(self._figures)
            self._figures.extend(_NOTHING)
            if len(self._slots) > self._limits.claims:
                raise error_at("agents", "", self._limits.too_long("pairs in one answer", self._limits.claims))
        self._figures[slot + _PLACES[sample.name]] = sample.value

    def all(self) -> Iterator[tuple[int, int, "array[float]"]]:
        """Yield the numbers of both ends and the figures of each claim, in the order in which they came."""
        for claim, slot in self._slots.items():
            row, column = divmod(claim % _ROOM**2, _ROOM)
            yield row, column, self._figures[slot : slot + len(_FIGURES)]


def _can_be(sample: GaugeSample) -> bool:
    most = MAX_RTT_MS / _MS if sample.name == RTT_SECONDS else math.inf
    return 0 <= sample.value <= most and math.isfinite(sample.value)


def _rows_known(matrix: Delays) -> int:
    """Return how many rows have a cell that is known."""
    return sum(not np.isnan(row).all() for row in matrix)


def _oldest_s(when: Delays, rtt_ms: Delays, now_s: float | None) -> float | None:
    """Return when the oldest round trip was measured; None where none is dated."""
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
    """What agents said."""

    #: Their round trips.
    survey: Survey
    #: Agents that gave none, by address, and why.
    unreachable: Mapping[str, str] = field(default_factory=dict)
    #: What was left out of what they said, for people; empty where nothing was.
    left_out: str = ""


def gather_agents(
    urls: Sequence[str],
    *,
    now_s: float,
    timeout_s: float,
    fill_missing: bool = True,
    limits: MapLimits = DEFAULT_LIMITS,
    nodes: Collection[str] | None = None,
) -> GatheredMap:
    """Ask agents for what they measured, at most 64 at a time, fewer where their pages may be long.

    Raises
    ------
    LatencyMapError
        No agent is named or too many are, none answers, or none has measured a round trip yet.
    """
    asked = tuple(dict.fromkeys(urls))
    if not asked:
        raise LatencyMapError("agents: expected the address of at least one, got none; name them")
    if len(asked) > limits.nodes:
        raise LatencyMapError(f"agents: {limits.too_many_nodes(f'the addresses of {len(asked)} agents')}")
    gathering = Gathering(limits, nodes)
    unreachable: dict[str, str] = {}
    at_once = max(1, min(_MOST_AT_ONCE, _BYTES_AT_ONCE // limits.page_bytes))
    end_s = time.monotonic() + _MOST_S
    for first in range(0, len(asked), at_once):
        if time.monotonic() > end_s:
            late = f"it was not asked, since others took {_MOST_S:g} s"
            unreachable |= dict.fromkeys(asked[first:], late)
            break
        for url, answer in _pages(asked[first : first + at_once], timeout_s, limits.page_bytes):
            problem = answer if isinstance(answer, str) else _take_page(answer, gathering)
            if problem:
                unreachable[url] = problem
    if len(unreachable) == len(asked):
        reasons = format_list(f"{url}: {reason}" for url, reason in unreachable.items())
        raise LatencyMapError(f"agents: expected an answer of at least one of {len(asked)}, got none; {reasons}")
    return _finish(gathering, unreachable, fill_missing=fill_missing, now_s=now_s)


def gather_samples(
    samples: Iterable[GaugeSample],
    *,
    fill_missing: bool,
    now_s: float | None = None,
    limits: MapLimits = DEFAULT_LIMITS,
    nodes: Collection[str] | None = None,
) -> GatheredMap:
    """Make a survey of the gauges of agents, as a Prometheus server has them.

    Parameters
    ----------
    nodes
        The only nodes that there may be, all others are left out; None for any.

    Raises
    ------
    LatencyMapError
        There is no round trip among the samples, or there are too many nodes.
    """
    gathering = Gathering(limits, nodes)
    gathering.take(samples)
    return _finish(gathering, {}, fill_missing=fill_missing, now_s=now_s)


def _finish(
    gathering: Gathering, unreachable: Mapping[str, str], *, fill_missing: bool, now_s: float | None
) -> GatheredMap:
    survey = gathering.survey(now_s)
    if fill_missing:
        survey = _fill(survey)
    return GatheredMap(survey=survey, unreachable=unreachable, left_out=gathering.left_out)


def _fill(survey: Survey) -> Survey:
    from latency_map.kinds import Fill
    from latency_map.quality.repair import Repair, repair

    return repair(survey, Repair(fill=Fill.COORDINATES)).survey


def _pages(urls: Sequence[str], timeout_s: float, page_bytes: int) -> Iterator[tuple[str, bytes | str]]:
    """Yield each agent's page, or why there is none."""
    asked = {url: in_thread(partial(_page, url, timeout_s, page_bytes)) for url in urls}
    for url in urls:
        yield url, asked.pop(url).result()


def _page(url: str, timeout_s: float, page_bytes: int) -> bytes | str:
    try:
        return UNRESTRICTED_CLIENT.fetch(f"{url.rstrip('/')}/metrics", timeout_s=timeout_s, max_bytes=page_bytes)
    except FetchError as error:
        return str(error)


def _take_page(page: bytes, gathering: Gathering) -> str:
    """Take an agent's figures from its page; return what is wrong with it, empty where nothing is."""
    try:
        figures = gathering.take(_figures(page))
    except LatencyMapError:
        raise
    except (ValueError, KeyError, IndexError):  # what the parser raises on nonsense; it quotes the page
        return "its page is no Prometheus text"
    return "" if figures else f"its page has no figure {PREFIX}*; is an agent there?"


def _figures(page: bytes) -> Iterator[GaugeSample]:
    """Read the figures of ours line by line; without the lines of types each is handed on at once."""
    from prometheus_client.parser import text_fd_to_metric_families

    ours = (line for line in io.BytesIO(page) if line.startswith(_PREFIX))
    for family in text_fd_to_metric_families(cast(TextIO, map(_decoded, ours))):
        for sample in family.samples:
            yield GaugeSample(name=sample.name, labels=sample.labels, value=sample.value)


def _decoded(line: bytes) -> str:
    if len(line) > _LONGEST_LINE:
        raise ValueError(f"expected lines of at most {_LONGEST_LINE} bytes")
    return line.decode()
