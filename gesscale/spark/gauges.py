"""The operator's gauges for Prometheus, made again for each scrape: what has vanished leaves no series."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from gesscale.batch_record import PREFIX, BatchRecord, HostWork, figures_of
from gesscale.spark.records import ExecutorSnapshot, QueryHistory, QuerySettings

_LABELS = ("app", "operator", "query")
_HOSTS = figures_of(BatchRecord)["hosts"]


@dataclass(frozen=True, slots=True)
class OperatorGauges(Collector):
    """Collects one operator.

    Attributes
    ----------
    settings
        Its labels.
    histories
        The active queries now.
    executors
        The live executors now; None where Spark does not tell.
    errors
        How many callbacks of the listener failed so far.
    """

    settings: QuerySettings
    histories: Callable[[], Iterable[QueryHistory]]
    executors: Callable[[], ExecutorSnapshot | None]
    errors: Callable[[], int]

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families."""
        histories = [history for history in self.histories() if history.active]
        last = {history.query: history.batches[-1] for history in histories if history.batches}
        for name, figure in figures_of(BatchRecord).items():
            if figure.gauge and figure is not _HOSTS:
                kind = CounterMetricFamily if figure.gauge.endswith("_total") else GaugeMetricFamily
                figures = {query: getattr(batch, name) for query, batch in last.items()}
                yield self._family(kind, figure.gauge, figure.text, figures)
        heard = {history.query: history.last_progress_at_s for history in histories}
        yield self._family(
            GaugeMetricFamily, "last_progress_timestamp_seconds", "When the query was last heard of.", heard
        )
        for name, figure in figures_of(HostWork).items():
            yield self._by_host(figure.gauge, figure.text, _work(last, name))
        yield from self._replicas({query: last[query].hosts if query in last else () for query in heard})
        errors = CounterMetricFamily(f"{PREFIX}listener_errors", "Failed callbacks.", labels=_LABELS[:2])
        errors.add_metric([self.settings.app, self.settings.operator], self.errors())
        yield errors

    def _replicas(self, at_last_batch: Mapping[str, Sequence[str]]) -> Iterator[Metric]:
        executors = self.executors()
        count = None if executors is None else len(executors.hosts)
        live = executors.hosts if executors else ()
        queries = dict.fromkeys(at_last_batch, count)
        yield self._family(GaugeMetricFamily, "replicas", "Live executors.", queries)
        yield self._hosts("replica_info", "Hosts of live executors.", dict.fromkeys(at_last_batch, live))
        # Who joined since may be live already, yet took no part in the batch that the other gauges tell of.
        yield self._hosts(_HOSTS.gauge, _HOSTS.text, at_last_batch)

    def _hosts(self, name: str, text: str, hosts: Mapping[str, Sequence[str]]) -> Metric:
        return self._by_host(name, text, {query: dict.fromkeys(listed, 1) for query, listed in hosts.items()})

    def _by_host(self, name: str, text: str, figures: Mapping[str, Mapping[str, float]]) -> Metric:
        family = GaugeMetricFamily(f"{PREFIX}{name}", text, labels=(*_LABELS, "host"))
        for query, by_host in figures.items():
            for host, figure in sorted(by_host.items()):
                family.add_metric([self.settings.app, self.settings.operator, query, host], figure)
        return family

    def _family(
        self,
        kind: type[CounterMetricFamily] | type[GaugeMetricFamily],
        name: str,
        text: str,
        figures: Mapping[str, float | None],
    ) -> Metric:
        family = kind(f"{PREFIX}{name}", text, labels=_LABELS)
        for query, figure in figures.items():
            labels = [self.settings.app, self.settings.operator, query]
            family.add_metric(labels, math.nan if figure is None else figure)
        return family


def _work(last: Mapping[str, BatchRecord], name: str) -> dict[str, dict[str, float]]:
    return {
        query: {
            host: figure
            for host, work in (batch.by_host or {}).items()
            if (figure := getattr(work, name)) is not None
        }
        for query, batch in last.items()
    }
