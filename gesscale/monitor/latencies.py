"""Monitor, of the network: the latency map as a file, the agents or a Prometheus server has it now."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from gesscale.common.http_client import ANYWHERE, HttpClient
from gesscale.errors import MetricsUnavailableError
from gesscale.monitor.fetch import check_url
from gesscale.monitor.kept_latencies import Found, KeptLatencies, Readers, TextLatencies
from gesscale.monitor.prometheus_query import ask
from latency_map import read_map, read_survey
from latency_map.measure.gather import GaugeSample, gather_agents, gather_samples
from latency_map.measure.gauges import MEASURED_TIMESTAMP_SECONDS, RTT_SECONDS
from latency_map.measure.peers import resolve_agents

_NAMED = 3
_MAX_ANSWER_BYTES = 5_000_000
_MAX_ANSWER_PARTS = 125_000


@dataclass(slots=True, kw_only=True)
class FileLatencies(TextLatencies):
    """A map in a file of any form, read again whenever the file has changed.

    Attributes
    ----------
    file
        Its path.
    """

    GROUP = "latency_map"

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

    def changed(self) -> Readers | None:
        """Return what reads the file; None where the file has not changed."""
        stamp = self._stamp()
        if stamp is not None and stamp == self._seen:
            return None
        self._seen = stamp
        return partial(read_survey, self.file), partial(read_map, self.file)

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            state = self.file.stat()
        except OSError:
            return None
        return state.st_mtime_ns, state.st_size, state.st_ino


@dataclass(slots=True, kw_only=True)
class AgentLatencies(KeptLatencies):
    """A map of what agents measure, asked of each of them.

    Attributes
    ----------
    urls
        Their addresses; empty where a name stands for them.
    timeout_s
        Bound on the answer of each.
    service
        A name and port, such as those of a headless service; what answers at each of its addresses is an agent.
    client
        By which they are asked.
    """

    urls: tuple[str, ...] = ()
    timeout_s: float
    service: str = ""
    client: HttpClient = ANYWHERE

    def read(self, now_s: float) -> Found:
        """Ask all agents."""
        urls = (
            resolve_agents(self.service, resolve=self.client.resolve, timeout_s=self.timeout_s)
            if self.service
            else self.urls
        )
        bounds = self.bounds()
        gathered = gather_agents(
            urls, now_s=now_s, timeout_s=self.timeout_s, limits=bounds.limits, nodes=bounds.nodes
        )
        silent = [f"{url}: {why}" for url, why in gathered.unreachable.items()]
        more = f"; {len(silent) - _NAMED} more" if len(silent) > _NAMED else ""
        said = (
            f"{len(silent)} of {len(urls)} agents gave nothing: {'; '.join(silent[:_NAMED])}{more}"
            if silent
            else ""
        )
        return Found(survey=gathered.survey, remark="; ".join(filter(None, (said, gathered.left_out))))


@dataclass(slots=True, kw_only=True)
class PrometheusLatencies(KeptLatencies):
    """A map of what agents measure, asked of the Prometheus server that scrapes them.

    Attributes
    ----------
    url
        Address of the server.
    timeout_s
        Bound on its answer.
    client
        By which it is asked.

    Raises
    ------
    InputError
        Where the address cannot be one.
    """

    url: str
    timeout_s: float
    client: HttpClient = ANYWHERE

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
            message = f"{self.url} holds no sample of {RTT_SECONDS}; are the agents among its scrape targets?"
            raise MetricsUnavailableError(message)
        samples = (
            GaugeSample(name=one.metric.get("__name__", ""), labels=one.metric, value=one.values[-1][1])
            for one in series
            if one.values
        )
        bounds = self.bounds()
        gathered = gather_samples(
            samples, fill_missing=True, now_s=now_s, limits=bounds.limits, nodes=bounds.nodes
        )
        return Found(survey=gathered.survey, remark=gathered.left_out)
