"""The operator's gauges for Prometheus, computed for each scrape so that ended queries leave no series."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gesscale.batch_record import OBSERVED, PREFIX, BatchRecord, HostWork, figures_of
from gesscale.common.metrics_text import LabelledValue, MetricFamily
from gesscale.spark.records import ExecutorSnapshot, QueryHistory, QuerySettings

_REFUSED = "Whether the API server refuses further executors, such as for a quota: the driver's log has its reason."
_HOSTS = figures_of(BatchRecord)["hosts"]


def operator_metrics(
    settings: QuerySettings,
    histories: Iterable[QueryHistory],
    executors: ExecutorSnapshot | None,
    errors: int,
    warnings: Mapping[str, int],
    refused: bool = False,
) -> Iterator[MetricFamily]:
    """Yield the metrics of one operator.

    Parameters
    ----------
    histories
        Its query, or all queries of an application that names none.
    executors
        The live executors; None if unknown.
    """
    active = [history for history in histories if history.active]
    last = {history.query: history.batches[-1] for history in active if history.batches}
    own = {"app": settings.app, "operator": settings.operator}

    def by_query(name: str, text: str, figures: Mapping[str, float | None]) -> MetricFamily:
        samples = [LabelledValue({**own, "query": query}, figure) for query, figure in figures.items()]
        return MetricFamily(f"{PREFIX}{name}", text, samples)

    def by_host(name: str, text: str, figures: Mapping[str, Mapping[str, float]], label: str = "host") -> MetricFamily:
        samples = [
            LabelledValue({**own, "query": query, label: host}, figure)
            for query, hosts in figures.items()
            for host, figure in sorted(hosts.items())
        ]
        return MetricFamily(f"{PREFIX}{name}", text, samples)

    for name, figure in figures_of(BatchRecord).items():
        if figure.gauge and figure is not _HOSTS:
            figures = {query: getattr(batch, name) for query, batch in last.items()}
            yield by_query(figure.gauge, figure.text, figures)
    progress = {history.query: history.last_progress_at_s for history in active}
    yield by_query("last_progress_timestamp_seconds", "When the query last reported progress.", progress)
    for name, figure in figures_of(HostWork).items():
        yield by_host(figure.gauge, figure.text, _work(last, name))
    observed = {query: batch.observed or {} for query, batch in last.items()}
    yield by_host(OBSERVED, "Metrics that the query observes (`DataFrame.observe`).", observed, label="metric")
    live = executors.hosts if executors else ()
    count = None if executors is None else len(live)
    yield by_query("replicas", "Live executors.", dict.fromkeys(progress, count))
    yield by_host("replica_info", "Hosts of live executors.", dict.fromkeys(progress, _ones(live)))
    # Executors that joined after the batch of the other gauges are live, but took no part in it.
    at_last_batch = {query: _ones(last[query].hosts if query in last else ()) for query in progress}
    yield by_host(_HOSTS.gauge, _HOSTS.text, at_last_batch)
    yield MetricFamily(f"{PREFIX}listener_errors_total", "Failed callbacks.", [LabelledValue(own, errors)])
    yield MetricFamily(f"{PREFIX}executor_refused", _REFUSED, [LabelledValue(own, refused)])
    counts = [LabelledValue({**own, "code": code}, count) for code, count in warnings.items()]
    yield MetricFamily(f"{PREFIX}warnings_total", "Warnings, also those that were not logged again.", counts)


def _ones(hosts: Sequence[str]) -> dict[str, float]:
    return dict.fromkeys(hosts, 1.0)


def _work(last: Mapping[str, BatchRecord], name: str) -> dict[str, dict[str, float]]:
    return {
        query: {
            host: figure for host, work in (batch.by_host or {}).items() if (figure := getattr(work, name)) is not None
        }
        for query, batch in last.items()
    }
