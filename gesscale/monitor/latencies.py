"""Latency sources: a file, the measuring agents, or the Prometheus server that scrapes the agents.

A source keeps the last valid map. A map that cannot be refreshed becomes *stale* at the age ``latency_map.max_age``. It
still allows adding replicas, because an overloaded operator is worse off waiting, but never removing one. It yields no
evidence for the performance model, because the delays may have changed.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeAlias

from gesscale.common.errors import Problem, cause_of
from gesscale.common.http_client import UNRESTRICTED_CLIENT, HttpClient
from gesscale.common.logs import log_problem
from gesscale.errors import GesscaleError, MetricsUnavailableError
from gesscale.formatting import describe_exception, format_duration
from gesscale.model.decision import MapStatus
from gesscale.monitor.fetch import check_url
from gesscale.monitor.prometheus_query import query_prometheus
from gesscale.ports import Latencies
from latency_map import (
    Asymmetry,
    DelayKind,
    DelayUnit,
    Imported,
    LatencyMap,
    LatencyMapError,
    MapLimits,
    Survey,
    read_survey,
)
from latency_map.measure.gather import GaugeSample, gather_agents, gather_samples
from latency_map.measure.gauges import MEASURED_TIMESTAMP_SECONDS, RTT_SECONDS
from latency_map.measure.peers import resolve_agents

_LOG = logging.getLogger(__name__)
_CLOCKS_AGREE_S = 60.0


#: A survey that was read, and warnings about it.
FoundSurvey: TypeAlias = tuple[Survey, Sequence[Problem]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MapBounds:
    """Bounds on a map."""

    #: For maps from any source.
    limits: MapLimits = field(default_factory=MapLimits)
    #: Nodes that a map from agents may contain, others are dropped; None for any.
    nodes: frozenset[str] | None = None


@dataclass(slots=True, kw_only=True)
class CachedLatencies(ABC):
    """Keeps the last valid map, refreshes it when due, and checks its age; a `gesscale.ports.LatencySource`."""

    #: Age from which a map is stale; None for never. A map of unknown age is not stale, which is a problem
    #: of its status.
    max_age_s: float | None = None
    #: Treatment of a pair whose two directions differ; see `latency_map.Survey.rule`.
    asymmetry: Asymmetry | None = None
    #: Time between two refreshes; 0 to refresh on every call.
    refresh_s: float = 0.0
    #: Raises if a map is unsuitable; the last valid one is then kept.
    check: Callable[[LatencyMap], None] = lambda _: None
    #: Returns the present bounds on a map.
    bounds: Callable[[], MapBounds] = MapBounds
    _map: LatencyMap | None = field(default=None, init=False)
    _measured_at_s: float | None = field(default=None, init=False)
    _refreshed_at_s: float | None = field(default=None, init=False)
    _problems: tuple[Problem, ...] = field(default=(), init=False)
    _failures: int = field(default=0, init=False)
    _logged: tuple[str, ...] = field(default=(), init=False)

    @abstractmethod
    def read(self, now_s: float) -> FoundSurvey | None:
        """Return the present survey; None if it has not changed. May raise."""

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes of the current map; empty before the first."""
        return () if self._map is None else self._map.names

    def current(self, now_s: float) -> Latencies:
        """Return the newest map; see `gesscale.ports.LatencySource`."""
        if self._refreshed_at_s is None or not 0 <= now_s - self._refreshed_at_s < self.refresh_s:
            self._refresh(now_s)
        age_s = None if self._measured_at_s is None else now_s - self._measured_at_s
        map_status = MapStatus(
            age_s=None if age_s is None else max(0.0, age_s),
            stale=str(staleness(age_s, self.max_age_s) or ""),
            problem="; ".join(map(str, self._problems)),
        )
        return Latencies(map=self._map, map_status=map_status)

    def keep(self, found: FoundSurvey) -> None:
        """Use a survey from now on.

        Raises
        ------
        LatencyMapError
            If the survey is not a valid map.
        GesscaleError
            If the map is unsuitable.
        """
        survey, problems = found
        latencies = survey.to_map(self.asymmetry)
        self.check(latencies)
        self._map = latencies
        self._measured_at_s = survey.measured_at_s
        undated = survey.measured_at_s is None and self.max_age_s is not None
        self._problems, self._failures = (*problems, *([Problem("map-age-unknown")] if undated else [])), 0
        for change in survey.changes:
            _LOG.info("latency map: %s", change)
        self._log(self._problems)

    def _refresh(self, now_s: float) -> None:
        try:
            if (found := self.read(now_s)) is not None:
                self.keep(found)
                self._refreshed_at_s = now_s
        except (LatencyMapError, GesscaleError, OSError) as error:
            self._fail(_problem_of(error))
        except Exception as error:  # noqa: BLE001 - a malformed response must not stop the loop
            self._fail(Problem("map-read-failed", {"cause": describe_exception(error)}), exc_info=True)

    def _fail(self, problem: Problem, *, exc_info: bool = False) -> None:
        self._failures += 1
        self._log((problem,), exc_info=exc_info)
        if self._failures > 1:
            problem = Problem("map-not-refreshed", {"failures": self._failures, "cause": str(problem)})
        self._problems = (problem,)

    def _log(self, problems: tuple[Problem, ...], *, exc_info: bool = False) -> None:
        """Log problems that are not the same as in the last refresh."""
        texts = tuple(map(str, problems))
        if texts != self._logged:
            for problem in problems:
                fields = {**problem.fields, "map_kept": self._map is not None}
                log_problem(_LOG, logging.WARNING, problem.code, exc_info=exc_info, **fields)
        self._logged = texts


def staleness(age_s: float | None, max_age_s: float | None) -> Problem | None:
    """Return why a map is stale, by its age; None if it is not."""
    if age_s is None or max_age_s is None:
        return None
    if age_s < -_CLOCKS_AGREE_S:
        return Problem("map-in-future", {"ahead": format_duration(-age_s)})
    if age_s <= max_age_s:
        return None
    return Problem("map-stale", {"age": format_duration(age_s), "max_age": format_duration(max_age_s)})


def _problem_of(error: Exception) -> Problem:
    if isinstance(error, GesscaleError):
        return error.problem
    return Problem("map-file-unreadable", {"cause": cause_of(error)})


_SETTING_OF_OPTION = {"--unit": "unit", "--kind": "kind"}

#: Reads a text as a survey; see `latency_map.read_survey`.
Reader = Callable[..., Imported]


@dataclass(slots=True, kw_only=True)
class TextLatencies(CachedLatencies):
    """A map in text of any format, read again whenever the text has changed."""

    #: The group of settings that has ``unit`` and ``kind``, for messages.
    GROUP: ClassVar[str]

    #: Unit and kind of its delays, if the text does not specify them.
    unit: DelayUnit | None = None
    kind: DelayKind | None = None

    @abstractmethod
    def changed(self) -> Reader | None:
        """Return a reader of the text; None if the text has not changed. May raise."""

    def read(self, now_s: float) -> FoundSurvey | None:
        """Return the survey in the text, if it has changed."""
        del now_s
        if (reader := self.changed()) is None:
            return None
        try:
            imported = reader(unit=self.unit, kind=self.kind, limits=self.bounds().limits)
        except LatencyMapError as error:
            raise LatencyMapError([self._with_settings(problem) for problem in error.problems]) from error
        return imported.survey, imported.warnings

    def _with_settings(self, problem: Problem) -> Problem:
        """Name the setting in place of the option of the command line."""
        option = problem.fields.get("option")
        if option not in _SETTING_OF_OPTION:
            return problem
        return Problem(problem.code, {**problem.fields, "option": f"{self.GROUP}.{_SETTING_OF_OPTION[option]}"})


_NAMED = 3
_MAX_RESPONSE_BYTES = 5_000_000
_MAX_RESPONSE_ELEMENTS = 125_000


@dataclass(slots=True, kw_only=True)
class FileLatencies(TextLatencies):
    """A map in a file of any format, read again whenever the file has changed."""

    GROUP = "latency_map"

    #: Its path.
    file: Path
    _seen: tuple[int, int, int] | None = field(default=None, init=False)

    def load(self) -> None:
        """Load the file.

        Raises
        ------
        LatencyMapError
            If it cannot be read, or is not a valid map.
        GesscaleError
            If the map is unsuitable.
        """
        if (found := self.read(0.0)) is not None:
            self.keep(found)

    def changed(self) -> Reader | None:
        """Return a reader of the file; None if the file has not changed."""
        stamp = self._stamp()
        if stamp is not None and stamp == self._seen:
            return None
        self._seen = stamp
        return partial(read_survey, self.file)

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            state = self.file.stat()
        except OSError:
            return None
        return state.st_mtime_ns, state.st_size, state.st_ino


@dataclass(slots=True, kw_only=True)
class AgentLatencies(CachedLatencies):
    """A map of the round trips that agents measure, requested from each agent."""

    #: Their addresses; empty if `service` is given.
    urls: tuple[str, ...] = ()
    #: Timeout of each request.
    timeout_s: float
    #: Name and port, such as those of a headless service; there is an agent at each of its addresses.
    service: str = ""
    #: Sends the requests.
    client: HttpClient = UNRESTRICTED_CLIENT

    def read(self, now_s: float) -> FoundSurvey:
        """Read from all agents."""
        urls = (
            resolve_agents(self.service, resolve=self.client.resolve, timeout_s=self.timeout_s)
            if self.service
            else self.urls
        )
        bounds = self.bounds()
        gathered = gather_agents(urls, now_s=now_s, timeout_s=self.timeout_s, limits=bounds.limits, nodes=bounds.nodes)
        silent = [f"{url}: {why}" for url, why in gathered.unreachable.items()]
        fields = {"count": len(silent), "agents": len(urls), "causes": silent[:_NAMED]}
        unreachable = [Problem("agents-unreachable", fields)] if silent else []
        return gathered.survey, [*unreachable, *gathered.warnings]


@dataclass(slots=True, kw_only=True)
class PrometheusLatencies(CachedLatencies):
    """A map of the round trips that agents measure, from the Prometheus server that scrapes them.

    Raises
    ------
    InputError
        If the address is invalid.
    """

    #: Address of the server.
    url: str
    #: Timeout of the request.
    timeout_s: float
    #: Sends the requests.
    client: HttpClient = UNRESTRICTED_CLIENT

    def __post_init__(self) -> None:
        check_url(self.url, "the Prometheus server")

    def read(self, now_s: float) -> FoundSurvey:
        """Query the round trips and their times; a map needs no other gauges of the agents."""
        query = f'{{__name__=~"{RTT_SECONDS}|{MEASURED_TIMESTAMP_SECONDS}"}}'
        series = query_prometheus(
            self.url,
            query,
            RTT_SECONDS,
            now_s=now_s,
            timeout_s=self.timeout_s,
            max_bytes=_MAX_RESPONSE_BYTES,
            max_elements=_MAX_RESPONSE_ELEMENTS,
            client=self.client,
        )
        if not series:
            raise MetricsUnavailableError("agents-not-scraped", url=self.url, gauge=RTT_SECONDS)
        samples = (
            GaugeSample(name=one.metric.get("__name__", ""), labels=one.metric, value=one.values[-1][1])
            for one in series
            if one.values
        )
        bounds = self.bounds()
        gathered = gather_samples(samples, fill_missing=True, now_s=now_s, limits=bounds.limits, nodes=bounds.nodes)
        return gathered.survey, gathered.warnings
