"""The operator's gauges for Prometheus, made again for each scrape: what has vanished leaves no series."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from gesscale.spark.records import BatchRecord, ExecutorSnapshot, QueryHistory, QuerySettings

PREFIX = "gesscale_operator_"
_LABELS = ("app", "operator", "query")

# name after the prefix, what it says, the field of the batch record
_TOTALS = (
    ("offered_rows", "Rows the sources had offered when the last batch began.", "offered_rows_total"),
    ("processed_rows", "Rows processed.", "processed_rows_total"),
)
_LAST_BATCH = (
    ("batch_id", "Number of the last finished batch.", "batch_id"),
    ("batch_rows", "Rows of the last finished batch.", "rows"),
    ("batch_cap_rows", "Cap on the rows of that batch; NaN where there is none.", "cap_rows"),
    ("batch_duration_seconds", "Duration of that batch (triggerExecution).", "seconds"),
    ("batch_start_timestamp_seconds", "When it began, since the epoch.", "started_at_s"),
    ("batch_end_timestamp_seconds", "When it ended, since the epoch.", "ended_at_s"),
    ("trigger_interval_seconds", "The trigger interval; NaN where unknown.", "trigger_s"),
    ("backlog_rows", "Rows offered and not processed; NaN where a source does not tell.", "backlog_rows"),
    ("batch_output_rows", "Rows that batch handed on; NaN where the sink does not tell.", "output_rows"),
)
_LAST_WORK: tuple[tuple[str, str, Literal["rows", "busy_s"]], ...] = (
    ("batch_replica_rows", "Rows that the replica on a host read in the last finished batch.", "rows"),
    ("batch_replica_busy_seconds", "For how long its slots held a task in that batch.", "busy_s"),
)


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
        for name, text, attribute in _TOTALS:
            yield self._family(CounterMetricFamily, name, text, _figures(last, attribute))
        for name, text, attribute in _LAST_BATCH:
            yield self._family(GaugeMetricFamily, name, text, _figures(last, attribute))
        heard = {history.query: history.last_progress_at_s for history in histories}
        yield self._family(
            GaugeMetricFamily, "last_progress_timestamp_seconds", "When the query was last heard of.", heard
        )
        for name, text, figure in _LAST_WORK:
            yield self._by_host(name, text, _work(last, figure))
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
        yield self._hosts("batch_replica_info", "Hosts of executors as the last batch ended.", at_last_batch)

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


def _work(last: Mapping[str, BatchRecord], figure: Literal["rows", "busy_s"]) -> dict[str, dict[str, float]]:
    return {
        query: {host: work[figure] for host, work in (batch.by_host or {}).items()}
        for query, batch in last.items()
    }


def _figures(last: Mapping[str, BatchRecord], attribute: str) -> dict[str, float | None]:
    return {query: getattr(batch, attribute) for query, batch in last.items()}
