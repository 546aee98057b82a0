"""Metric source that queries the Prometheus server which scrapes the drivers, and rebuilds batch records."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import groupby
from math import isfinite

from gesscale.batch_record import OBSERVED, PREFIX, BatchFigures, BatchRecord, HostWork, figures_of
from gesscale.common.errors import Problem
from gesscale.common.http_client import UNRESTRICTED_CLIENT, HttpClient
from gesscale.fields import MAX_HISTORY_S
from gesscale.model.observation import MissingReading, OperatorReading, WorkflowObservation
from gesscale.monitor.fetch import check_url
from gesscale.monitor.prometheus_query import PrometheusSeries, query_prometheus
from gesscale.monitor.records import to_batches
from gesscale.monitor.source import WindowedReader
from gesscale.monitor.window import WorkByNode, missing_reading

#: Field of the batch record by gauge of `gesscale.spark`, without prefix.
FIELD_OF_GAUGE = {figure.gauge: name for name, figure in figures_of(BatchFigures).items()}

_MAX_BYTES = 2 << 20
#: Largest response; 300 scrapes of 50 replicas need half of it.
_MAX_ELEMENTS = 100_000
#: Gauges of the duration of a batch and of the interval of the trigger: the longer one is a cycle.
_CYCLE_GAUGES = tuple(figures_of(BatchFigures)[name].gauge for name in ("seconds", "trigger_s"))
#: Cycles that are read of a query with long ones, and the scrapes of them (_CYCLES_READ, _SCRAPES_READ).
_CYCLES_READ, _SCRAPES_READ = 4.0, 250
_PROGRESS = "last_progress_timestamp_seconds"
_REFUSED, _IN_LOG = "executor_refused", "the log of its driver has the reason"
_REPLICA = figures_of(BatchRecord)["hosts"].gauge
_FIELD_OF_REPLICA_GAUGE = {figure.gauge: name for name, figure in figures_of(HostWork).items()}


@dataclass(frozen=True, slots=True)
class PrometheusMetrics(WindowedReader):
    """A metric source that queries a Prometheus server for the gauges of `gesscale.spark`.

    All gauges of a scrape have the same timestamp, so the raw samples of a range join exactly; batches are identified
    by their number. Scrape at least once per trigger interval: a batch between two scrapes is logged as not seen.

    Raises
    ------
    InputError
        If the address is invalid.
    """

    #: Address of the server, such as ``http://10.0.0.1:9090``.
    url: str
    #: Names of the operators, the values of the label ``operator``.
    operators: tuple[str, ...]
    _: KW_ONLY
    #: Node names by the host addresses of executors; an unknown address is its own name.
    hosts: Mapping[str, str] = field(default_factory=dict)
    #: Sends the requests.
    client: HttpClient = field(default=UNRESTRICTED_CLIENT, repr=False)

    def __post_init__(self) -> None:
        check_url(self.url, "the Prometheus server")

    def observe(self, now_s: float) -> WorkflowObservation:
        """Read every operator over the window that ends now; see `gesscale.ports.MetricSource`."""
        return self.observe_each(self.operators, lambda operator: self._read(operator, now_s), now_s)

    def _read(self, operator: str, now_s: float) -> OperatorReading | MissingReading:
        scrapes = self._scrapes(operator, now_s)
        if not scrapes:
            return missing_reading(
                operator,
                "driver-not-scraped",
                url=self.url,
                gauges=f"{PREFIX}*",
                operator=operator,
                history_s=self.history_s,
            )
        newest = _newest(scrapes)
        running = sorted({scrape.query for scrape in newest if scrape.query})
        if len(running) > 1:
            return missing_reading(operator, "queries-several", queries=running)
        if not running and (ended := [scrape.query for scrape in scrapes if scrape.query]):
            return missing_reading(operator, "query-ended", query=ended[-1])
        scrapes = [scrape for scrape in scrapes if not running or scrape.query in running]
        parsed = to_batches(_records(scrapes), self.hosts)
        problems = parsed.problems
        if not parsed.batches and not problems:
            problems = [
                Problem("prometheus-batches-unnumbered", {"scrapes": len(scrapes), "gauge": f"{PREFIX}batch_id"})
            ]
        return self.read(
            operator,
            sorted(parsed.batches, key=lambda batch: batch.ended_at_s),
            now_s=now_s,
            last_progress_at_s=max((scrape.figures.get(_PROGRESS, 0.0) for scrape in scrapes), default=None),
            problems=problems,
            by_node=WorkByNode(parsed.work),
            executor_refusal=_IN_LOG if any(scrape.figures.get(_REFUSED) for scrape in newest) else "",
        )

    def _scrapes(self, operator: str, now_s: float) -> "list[_Scrape]":
        """Return the scrapes of the history, or of some cycles of the query if they are longer: the load needs two."""
        scrapes = _join(self._samples(operator, f"{round(self.history_s * 1000)}ms", now_s))
        cycles_s = [each.figures.get(gauge, 0.0) for each in scrapes for gauge in _CYCLE_GAUGES]
        reach_s = _CYCLES_READ * max(filter(isfinite, cycles_s), default=0.0)
        if not self.history_s < reach_s <= MAX_HISTORY_S:
            return scrapes
        step_ms = round(reach_s * 1000 / _SCRAPES_READ)
        return _join(self._samples(operator, f"{step_ms * _SCRAPES_READ}ms:{step_ms}ms", now_s))

    def _samples(self, operator: str, span: str, now_s: float) -> tuple[PrometheusSeries, ...]:
        name = operator.replace("\\", "\\\\").replace('"', '\\"')
        query = f'{{__name__=~"{PREFIX}.+",operator="{name}"}}[{span}]'
        return query_prometheus(
            self.url,
            query,
            f"{PREFIX}*",
            now_s=now_s,
            timeout_s=0.9 * self.timeout_s,
            max_bytes=_MAX_BYTES,
            max_elements=_MAX_ELEMENTS,
            client=self.client,
        )


@dataclass(slots=True)
class _Scrape:
    """The gauges of one query in one scrape; those of the driver itself have no query."""

    at_s: float
    instance: str
    query: str
    figures: dict[str, float] = field(default_factory=dict)
    hosts: set[str] = field(default_factory=set)
    by_host: dict[str, dict[str, float]] = field(default_factory=dict)
    observed: dict[str, float] = field(default_factory=dict)


def _join(series: Iterable[PrometheusSeries]) -> list[_Scrape]:
    """Join the samples of each query by timestamp; the queries of a restarted driver follow one another."""
    scrapes: dict[tuple[tuple[str, ...], float], _Scrape] = {}
    for one in series:
        labels = one.metric
        gauge = labels.get("__name__", "").removeprefix(PREFIX)
        query = tuple(labels.get(label, "") for label in ("instance", "app", "query"))
        for at_s, value in one.values:
            scrape = scrapes.setdefault((query, at_s), _Scrape(at_s, query[0], query[2]))
            if gauge == _REPLICA:
                scrape.hosts.add(labels.get("host", ""))
            elif gauge == OBSERVED:
                scrape.observed[labels.get("metric", "")] = value
            elif gauge in _FIELD_OF_REPLICA_GAUGE:
                work = scrape.by_host.setdefault(labels.get("host", ""), {})
                work[_FIELD_OF_REPLICA_GAUGE[gauge]] = value
            elif isfinite(value) or gauge != _PROGRESS:
                scrape.figures[gauge] = value
    return [scrapes[key] for key in sorted(scrapes)]


def _newest(scrapes: Sequence[_Scrape]) -> list[_Scrape]:
    """Return the scrapes of all queries at the newest instant of the newest driver; ended queries are not there."""
    newest = max(scrapes, key=lambda scrape: scrape.at_s)
    return [each for each in scrapes if (each.at_s, each.instance) == (newest.at_s, newest.instance)]


def _records(scrapes: Iterable[_Scrape]) -> Iterator[dict[str, object]]:
    """Yield one record for each run of scrapes with the same batch number, from the first of them."""
    counted = (scrape for scrape in scrapes if isfinite(scrape.figures.get("batch_id", float("nan"))))
    for _, seen in groupby(counted, key=lambda scrape: scrape.figures["batch_id"]):
        scrape = next(seen)
        record: dict[str, object] = {
            name: scrape.figures[gauge] for gauge, name in FIELD_OF_GAUGE.items() if gauge in scrape.figures
        }
        yield {
            "ended_at_s": scrape.figures.get(_PROGRESS),
            **record,
            "hosts": sorted(scrape.hosts),
            "by_host": scrape.by_host or None,
            "observed": scrape.observed or None,
        }
