"""Monitor, of the network: the latency map as a file, the agents or a Prometheus server has it now.

What every source shares: the last good map stays in force, and it ages. A map that cannot be renewed is *stale* from
``latency_map.max_age`` on. Replicas are still added by it, since an overloaded operator is worse off waiting. None is
removed by it. No evidence for the performance model is taken under it: the delays may be others by now.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from gesscale.common.http_client import UNRESTRICTED_CLIENT, HttpClient
from gesscale.errors import GesscaleError, MetricsUnavailableError
from gesscale.formatting import format_duration
from gesscale.model.decision import MapStatus
from gesscale.monitor.fetch import check_url
from gesscale.monitor.prometheus_query import ask
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A survey, and what there is to say about it."""

    survey: Survey
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How large a map may be that is read."""

    #: Of a map from anywhere.
    limits: MapLimits = field(default_factory=MapLimits)
    #: The only nodes that a map of agents' figures may have, all others are left out; None for any.
    nodes: frozenset[str] | None = None


@dataclass(slots=True, kw_only=True)
class KeptLatencies(ABC):
    """Keeps the last good map, renews it when that is due, and judges its age; a `gesscale.ports.LatencySource`."""

    #: Age from which a map is stale; None for never. One whose age is not known is not stale.
    max_age_s: float | None = None
    #: What to do where the two directions of a pair differ; see `latency_map.Survey.rule`.
    asymmetry: Asymmetry | None = None
    #: Time after which a map is asked for again; 0 for every time.
    refresh_s: float = 0.0
    #: Raises where a map cannot serve; the last good one then stays in force.
    check: Callable[[LatencyMap], None] = lambda _: None
    #: Returns how large a map may be now.
    bounds: Callable[[], Bounds] = Bounds
    _map: LatencyMap | None = field(default=None, init=False)
    _measured_at_s: float | None = field(default=None, init=False)
    _renewed_at_s: float | None = field(default=None, init=False)
    _problem: str = field(default="", init=False)
    _failures: int = field(default=0, init=False)
    _said: str = field(default="", init=False)

    @abstractmethod
    def read(self, now_s: float) -> Found | None:
        """Return what there is now; None where it is what was kept already. May raise."""

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes of the map in force; empty before the first."""
        return () if self._map is None else self._map.names

    def current(self, now_s: float) -> Latencies:
        """Return the newest map there is; see `gesscale.ports.LatencySource`."""
        if self._renewed_at_s is None or not 0 <= now_s - self._renewed_at_s < self.refresh_s:
            self._renew(now_s)
        age_s = None if self._measured_at_s is None else now_s - self._measured_at_s
        map_status = MapStatus(
            age_s=None if age_s is None else max(0.0, age_s), stale=self._stale(age_s), problem=self._problem
        )
        return Latencies(map=self._map, map_status=map_status)

    def keep(self, found: Found) -> None:
        """Put a survey in force.

        Raises
        ------
        LatencyMapError
            It amounts to no map.
        GesscaleError
            The map cannot serve.
        """
        latencies = found.survey.to_map(self.asymmetry)
        self.check(latencies)
        self._map = latencies
        self._measured_at_s = found.survey.measured_at_s
        self._problem, self._failures = found.remark, 0
        for change in found.survey.changes:
            _LOG.info("latency map: %s", change)
        if found.remark and found.remark != self._said:
            _LOG.warning("latency map: %s", found.remark)
        self._said = found.remark

    def _renew(self, now_s: float) -> None:
        try:
            if (found := self.read(now_s)) is not None:
                self.keep(found)
                self._renewed_at_s = now_s
        except (LatencyMapError, GesscaleError, OSError) as error:
            self._fail(str(error))
        except Exception as error:  # noqa: BLE001 - a source's nonsense must not stop the loop
            _LOG.exception("latency map: reading it failed")
            self._fail(f"reading it failed: {error!r}")

    def _fail(self, why: str) -> None:
        self._failures += 1
        if why != self._said:
            self._said = why
            _LOG.warning(
                "latency map: %s; %s", why, "none yet" if self._map is None else "the last good one stays in force"
            )
        times = f" (failed {self._failures} times in a row)" if self._failures > 1 else ""
        self._problem = f"{why}{times}"

    def _stale(self, age_s: float | None) -> str:
        if age_s is None or self.max_age_s is None:
            return ""
        if age_s < -_CLOCKS_AGREE_S:
            return (
                f"the latency map is dated {format_duration(-age_s)} in the future, so its age is not known; "
                "set the clock of the machine that measured it, or of this one"
            )
        if age_s <= self.max_age_s:
            return ""
        return (
            f"the latency map is {format_duration(age_s)} old, over the "
            f"{format_duration(self.max_age_s)} of latency_map.max_age; measure it again"
        )


#: What reads a text as a survey; see `latency_map.read_survey`.
Reader = Callable[..., Imported]


@dataclass(slots=True, kw_only=True)
class TextLatencies(KeptLatencies):
    """A map in a text of any form, read again whenever the text has changed."""

    #: The group of settings that has ``unit`` and ``kind``, for messages.
    GROUP: ClassVar[str]

    #: What its delays mean, where the text does not say it (unit, kind).
    unit: DelayUnit | None = None
    kind: DelayKind | None = None

    @abstractmethod
    def changed(self) -> Reader | None:
        """Return what reads the text; None where the text has not changed. May raise."""

    def read(self, now_s: float) -> Found | None:
        """Return what the text holds, where it has changed."""
        del now_s
        if (reader := self.changed()) is None:
            return None
        try:
            imported = reader(unit=self.unit, kind=self.kind, limits=self.bounds().limits)
        except LatencyMapError as error:
            # It names options of the command line; here they are settings.
            message = str(error)
            for name in ("unit", "kind"):
                message = message.replace(f"--{name}", f"{self.GROUP}.{name}")
            raise LatencyMapError(message) from error
        return Found(survey=imported.survey, remark="; ".join(imported.warnings))


_NAMED = 3
_MAX_ANSWER_BYTES = 5_000_000
_MAX_ANSWER_PARTS = 125_000


@dataclass(slots=True, kw_only=True)
class FileLatencies(TextLatencies):
    """A map in a file of any form, read again whenever the file has changed."""

    GROUP = "latency_map"

    #: Its path.
    file: Path
    _seen: tuple[int, int, int] | None = field(default=None, init=False)

    def load(self) -> None:
        """Put what the file holds in force.

        Raises
        ------
        LatencyMapError
            It cannot be read, or amounts to no map.
        GesscaleError
            The map cannot serve.
        """
        if (found := self.read(0.0)) is not None:
            self.keep(found)

    def changed(self) -> Reader | None:
        """Return what reads the file; None where the file has not changed."""
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
class AgentLatencies(KeptLatencies):
    """A map of what agents measure, asked of each of them."""

    #: Their addresses; empty where a name stands for them.
    urls: tuple[str, ...] = ()
    #: Bound on the answer of each.
    timeout_s: float
    #: A name and port, such as those of a headless service; what answers at each of its addresses is an
    #: agent.
    service: str = ""
    #: By which they are asked.
    client: HttpClient = UNRESTRICTED_CLIENT

    def read(self, now_s: float) -> Found:
        """Ask all agents."""
        urls = (
            resolve_agents(self.service, resolve=self.client.resolve, timeout_s=self.timeout_s)
            if self.service
            else self.urls
        )
        bounds = self.bounds()
        gathered = gather_agents(urls, now_s=now_s, timeout_s=self.timeout_s, limits=bounds.limits, nodes=bounds.nodes)
        silent = [f"{url}: {why}" for url, why in gathered.unreachable.items()]
        more = f"; {len(silent) - _NAMED} more" if len(silent) > _NAMED else ""
        said = f"{len(silent)} of {len(urls)} agents gave nothing: {'; '.join(silent[:_NAMED])}{more}" if silent else ""
        return Found(survey=gathered.survey, remark="; ".join(filter(None, (said, gathered.left_out))))


@dataclass(slots=True, kw_only=True)
class PrometheusLatencies(KeptLatencies):
    """A map of what agents measure, asked of the Prometheus server that scrapes them.

    Raises
    ------
    InputError
        Where the address cannot be one.
    """

    #: Address of the server.
    url: str
    #: Bound on its answer.
    timeout_s: float
    #: By which it is asked.
    client: HttpClient = UNRESTRICTED_CLIENT

    def __post_init__(self) -> None:
        check_url(self.url, "the Prometheus server")

    def read(self, now_s: float) -> Found:
        """Ask for the round trips and when they were measured; a map needs no more of the agents' gauges."""
        query = f'{{__name__=~"{RTT_SECONDS}|{MEASURED_TIMESTAMP_SECONDS}"}}'
        series = ask(
            self.url,
            query,
            RTT_SECONDS,
            now_s=now_s,
            timeout_s=self.timeout_s,
            max_bytes=_MAX_ANSWER_BYTES,
            max_parts=_MAX_ANSWER_PARTS,
            client=self.client,
        )
        if not series:
            raise MetricsUnavailableError(
                f"{self.url} holds no sample of {RTT_SECONDS}; are the agents among its scrape targets?"
            )
        samples = (
            GaugeSample(name=one.metric.get("__name__", ""), labels=one.metric, value=one.values[-1][1])
            for one in series
            if one.values
        )
        bounds = self.bounds()
        gathered = gather_samples(samples, fill_missing=True, now_s=now_s, limits=bounds.limits, nodes=bounds.nodes)
        return Found(survey=gathered.survey, remark=gathered.left_out)
