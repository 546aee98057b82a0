"""The contract of a metric source, over the driver's endpoint and over Prometheus.

The responses of Prometheus have the shape that the real server gives (tests/real/test_prometheus.py reads one).
"""

import json
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pytest
from pytest_httpserver import HTTPServer
from refusals import logged_codes
from werkzeug import Request, Response

from gesscale.batch_record import OBSERVED, BatchRecord, HostWork
from gesscale.model.observation import Batch, MissingReading, NodeReading, OperatorReading
from gesscale.monitor import DriverMetrics, PrometheusMetrics
from gesscale.monitor.prometheus import FIELD_OF_GAUGE, PREFIX
from gesscale.ports import MetricSource
from gesscale.spark.records import QueryHistory, QuerySettings, document

NOW_S = 1_795_000_000.0
PERIODS = {"window_s": 20.0, "stale_after_s": 30.0, "history_s": 300.0, "timeout_s": 60.0}
HOSTS = {"10.77.0.2": "near"}
OBSERVED_METRICS = {"orders.oldest_s": 4.5, "orders.count": 100.0}


def steady(*, last_end_s: float = NOW_S, **changes: object) -> list[Batch]:
    """Return twenty batches of a trigger of 2 s: 100 rows processed, 150 offered and 80 handed on in each, 1 s long."""
    return [
        replace(
            Batch(
                batch_id=index,
                ended_at_s=last_end_s - 2.0 * (19 - index),
                rows=100,
                seconds=1.0,
                nodes=("10.77.0.2", "10.77.0.3"),
                workers=("10.77.0.2", "10.77.0.3"),
                trigger_s=2.0,
                cap_rows=200,
                cap_rows_per_replica=100,
                offered_rows_total=150.0 * index,
                backlog_rows=50.0 * index,
                end_offset_rows_total=9000.0 + 150 * index,
                source_partitions=4,
                tasks=6,
                output_rows=80,
                state_rows=300 + index,
                state_bytes=2**33 + index,
                state_partitions=6,
                fixed_slots=0,
                observed=OBSERVED_METRICS,
            ),
            **changes,
        )
        for index in range(20)
    ]


def driver_response(
    operator: str,
    batches: Sequence[Batch],
    *,
    now_s: float = NOW_S,
    progress_s: float | None = None,
    active: Sequence[str] = ("q",),
) -> str:
    history = QueryHistory(query="q", last_progress_at_s=progress_s, active="q" in active)
    others = [QueryHistory(query=each) for each in active if each != "q"]
    history.batches.extend(served_record(batch) for batch in batches)
    settings = QuerySettings(app="a", operator=operator)
    return json.dumps(document([history, *others], settings, now_s=now_s))


def served_record(batch: Batch) -> BatchRecord:
    figures = {name: getattr(batch, name) for name in FIELD_OF_GAUGE.values()}
    return BatchRecord(
        **figures,
        started_at_s=batch.ended_at_s - batch.seconds,
        processed_rows_total=0,
        replicas=len(batch.nodes),
        hosts=batch.nodes,
        hosts_at_start=batch.nodes,
        observed=batch.observed,
        by_host={host: work_of_each(batch) for host in batch.nodes},
    )


def work_of_each(batch: Batch) -> HostWork:
    return HostWork(rows=batch.rows / len(batch.nodes), busy_s=0.5, cpu_s=0.25, state_partitions=3)


def prometheus_response(
    operator: str, batches: Sequence[Batch], *, progress_s: float | None = None, active: Sequence[str] = ("q",)
) -> str:
    labels = {"operator": operator, "app": "a", "query": "q", "instance": "d:9108", "job": "gesscale"}
    # Two scrapes per batch, half a second and one and a half after its end: values are strings.
    times = [batch.ended_at_s + after for batch in batches for after in (0.5, 1.5)]
    twice = [batch for batch in batches for _ in range(2)]
    gauges = [
        {
            "metric": {"__name__": PREFIX + gauge, **labels},
            "values": [[at_s, str(getattr(batch, name))] for at_s, batch in zip(times, twice, strict=True)],
        }
        for gauge, name in FIELD_OF_GAUGE.items()
    ]
    of_hosts = {
        "batch_replica_info": lambda _: 1,
        "batch_replica_rows": lambda batch: work_of_each(batch).rows,
        "batch_replica_busy_seconds": lambda batch: work_of_each(batch).busy_s,
        "batch_replica_cpu_seconds": lambda batch: work_of_each(batch).cpu_s,
        "batch_replica_state_partitions": lambda batch: work_of_each(batch).state_partitions,
    }
    hosts = [
        {
            "metric": {"__name__": PREFIX + gauge, "host": host, **labels},
            "values": [
                [at_s, str(figure(batch))] for at_s, batch in zip(times, twice, strict=True) if host in batch.nodes
            ],
        }
        for gauge, figure in of_hosts.items()
        for host in sorted({host for batch in batches for host in batch.nodes})
    ]
    gauges += [
        {
            "metric": {"__name__": PREFIX + OBSERVED, "metric": name, **labels},
            "values": [[at_s, str((batch.observed or {})[name])] for at_s, batch in zip(times, twice, strict=True)],
        }
        for name in OBSERVED_METRICS
    ]
    if progress_s is not None:
        name = PREFIX + "last_progress_timestamp_seconds"
        gauges.append({"metric": {"__name__": name, **labels}, "values": [[NOW_S, str(progress_s)]]})
    if active != ("q",):  # one more scrape, of a driver whose queries are others
        own = {"__name__": PREFIX + "listener_errors_total", **labels}
        del own["query"]
        gauges.append({"metric": own, "values": [[NOW_S + 2, "0"]]})
        name = PREFIX + "last_progress_timestamp_seconds"
        gauges += [
            {"metric": {"__name__": name, **labels, "query": each}, "values": [[NOW_S + 2, str(NOW_S)]]}
            for each in active
        ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": gauges + hosts}})


@dataclass
class Served:
    """A source, and the responses of its server by operator."""

    source: MetricSource
    response_of: Callable[..., str]
    responses: dict[str, Callable[[], Response]]

    def serve(self, operator: str, batches: Sequence[Batch], progress_s: float | None = None) -> None:
        self.respond(operator, self.response_of(operator, batches, progress_s=progress_s))

    def respond(self, operator: str, body: str, status: int = 200) -> None:
        self.responses[operator] = lambda: Response(body, status=status, content_type="application/json")

    def observe(self) -> dict[str, OperatorReading | MissingReading]:
        seen = self.source.observe(NOW_S)
        assert seen.at_s == NOW_S
        return {**seen.readings, **seen.missing_readings}


@pytest.fixture(params=["driver", "prometheus"])
def served(request: pytest.FixtureRequest, httpserver: HTTPServer) -> Served:
    responses: dict[str, Callable[[], Response]] = {}
    if request.param == "driver":
        for operator in ("one", "two"):
            httpserver.expect_request(f"/{operator}/batches").respond_with_handler(
                lambda _, operator=operator: responses[operator]()
            )
        urls = {operator: httpserver.url_for(f"/{operator}") for operator in ("one", "two")}
        return Served(DriverMetrics(urls, hosts=HOSTS, **PERIODS), driver_response, responses)

    def query(request: Request) -> Response:
        return responses["one" if 'operator="one"' in request.args["query"] else "two"]()

    httpserver.expect_request("/api/v1/query").respond_with_handler(query)
    source = PrometheusMetrics(httpserver.url_for(""), ("one", "two"), hosts=HOSTS, **PERIODS)
    return Served(source, prometheus_response, responses)


def test_reads_batches_rates_and_nodes(served: Served) -> None:
    served.serve("one", steady())
    served.serve("two", steady(nodes=("10.77.0.3",)))
    seen = served.observe()
    one, two = seen["one"], seen["two"]
    assert isinstance(one, OperatorReading)
    assert isinstance(two, OperatorReading)
    assert one.batches == tuple(steady(nodes=("10.77.0.3", "near"), workers=("10.77.0.3", "near")))
    # 150 rows offered and 100 processed per 2 s, half the time in batches.
    assert one.input_rows_per_s == pytest.approx(75.0)
    assert one.throughput_rows_per_s == pytest.approx(50.0)
    assert one.busy_share == pytest.approx(0.5)
    assert one.output_rows_per_s == pytest.approx(40.0)
    assert (one.placement, two.placement) == (("10.77.0.3", "near"), ("10.77.0.3",))
    # Of 100 rows in 2 s half went to each of two replicas, which were busy for 0.5 s of them, with 0.25 s of CPU.
    both = NodeReading(throughput_rows_per_s=25.0, busy_share=0.25, cpu_share=0.125, state_partitions=3)
    assert one.by_node == {"10.77.0.3": both, "near": both}
    assert two.by_node == {
        "10.77.0.3": NodeReading(throughput_rows_per_s=50.0, busy_share=0.25, cpu_share=0.125, state_partitions=3)
    }


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("<!DOCTYPE html><html><body>It works!</body></html>", 200),
        ("broken", 500),
        ("", 200),
        ('{"status": "success", "apiVersion": ', 200),
        ("[1, 2, 3]", 200),
        ('{"status": "success", "data": {"result": [{"metric": 1}]}, "apiVersion": 7}', 200),
    ],
    ids=["html", "500", "empty", "truncated", "list", "schema"],
)
def test_an_invalid_response_affects_one_operator(served: Served, body: str, status: int) -> None:
    served.respond("one", body, status)
    served.serve("two", steady())
    seen = served.observe()
    one = seen["one"]
    assert isinstance(one, MissingReading)
    assert not one.stale
    assert one.code
    assert isinstance(seen["two"], OperatorReading)


def test_an_invalid_batch_is_dropped_and_logged(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    batches = steady()
    batches[12] = replace(batches[12], rows=-7)
    served.serve("one", batches)
    served.serve("two", steady())
    with caplog.at_level(logging.WARNING):
        one = served.observe()["one"]
    assert isinstance(one, OperatorReading)
    assert [batch.batch_id for batch in one.batches] == [index for index in range(20) if index != 12]
    assert logged_codes(caplog.text) == ["batches-not-seen"]  # the latest of two problems
    assert "operator=one problems=2" in caplog.text


def test_figures_that_are_too_old_are_stale(served: Served) -> None:
    served.serve("one", steady(last_end_s=NOW_S - 100))
    served.serve("two", steady())
    one = served.observe()["one"]
    assert isinstance(one, MissingReading)
    assert one.stale
    assert (one.code, round(one.fields["age_s"])) == ("metrics-stale", 100)


def test_a_query_that_idles_reads_zero(served: Served) -> None:
    served.serve("one", steady(last_end_s=NOW_S - 100), progress_s=NOW_S - 1)
    served.serve("two", steady())
    one = served.observe()["one"]
    assert isinstance(one, OperatorReading)
    assert (one.input_rows_per_s, one.throughput_rows_per_s) == (0.0, 0.0)


@pytest.mark.parametrize(("active", "code"), [((), "query-ended"), (("light", "q"), "queries-several")])
def test_an_ended_query_or_one_of_several_is_not_judged(served: Served, active: Sequence[str], code: str) -> None:
    served.respond("one", served.response_of("one", steady(), active=active))
    served.serve("two", steady())
    seen = served.observe()
    assert isinstance(one := seen["one"], MissingReading)
    assert (one.code, one.stale) == (code, False)
    assert one.fields == ({"query": "q"} if code == "query-ended" else {"queries": ["light", "q"]})
    assert isinstance(seen["two"], OperatorReading)


def test_a_refusal_of_executors_is_read(served: Served) -> None:
    plain, name = served.response_of("one", steady()), PREFIX + "executor_refused"
    response = json.loads(plain)
    if "data" in response:
        labels = {"__name__": name, "operator": "one", "app": "a", "instance": "d:9108"}
        response["data"]["result"].append({"metric": labels, "values": [[NOW_S + 0.5, "0"], [NOW_S + 1.5, "1"]]})
    else:
        response["executor_refusal"] = "exceeded quota"
    for body, is_refused in ((plain, False), (json.dumps(response), True)):
        served.respond("one", body)
        served.serve("two", steady())
        assert isinstance(one := served.observe()["one"], OperatorReading)
        assert bool(one.executor_refusal) is is_refused


@pytest.fixture
def hanging(httpserver: HTTPServer) -> Iterator[str]:
    over = threading.Event()

    def hang(_: Request) -> Response:
        over.wait(60)
        return Response("")

    httpserver.expect_request("/api/v1/query").respond_with_handler(hang)
    httpserver.expect_request("/batches").respond_with_handler(hang)
    yield httpserver.url_for("").rstrip("/")
    over.set()


@pytest.mark.parametrize("kind", ["driver", "prometheus"])
def test_a_hanging_server_times_out(hanging: str, kind: str) -> None:
    periods = {**PERIODS, "timeout_s": 0.3}
    source: MetricSource = (
        DriverMetrics({"one": hanging}, **periods)
        if kind == "driver"
        else PrometheusMetrics(hanging, ("one",), **periods)
    )
    seen = source.observe(NOW_S)
    assert set(seen.missing_readings) == {"one"}
    assert seen.missing_readings["one"].code


def test_a_wrong_driver_clock_is_corrected_and_logged(httpserver: HTTPServer, caplog: pytest.LogCaptureFixture) -> None:
    ahead = steady(last_end_s=NOW_S + 500)
    httpserver.expect_request("/batches").respond_with_data(driver_response("one", ahead, now_s=NOW_S + 500))
    # The monotonic clock stands still here, so the difference is 500 s exactly.
    source = DriverMetrics({"one": httpserver.url_for("/")}, monotonic_s=lambda: 0.0, **PERIODS)
    with caplog.at_level(logging.WARNING):
        seen = source.observe(NOW_S)
    assert seen.readings["one"].batches[-1].ended_at_s == NOW_S
    assert logged_codes(caplog.text) == ["driver-clock-off"]
    assert "ahead_s=500" in caplog.text


def test_a_batch_is_on_the_hosts_of_its_first_scrape(httpserver: HTTPServer) -> None:
    # The same batch again in the last scrape, when another replica has joined already.
    batches = steady()
    response = json.loads(prometheus_response("one", batches))
    labels = {"__name__": PREFIX + "batch_replica_info", "operator": "one", "app": "a", "query": "q"}
    late = {**labels, "instance": "d:9108", "job": "gesscale", "host": "10.77.0.4"}
    response["data"]["result"].append({"metric": late, "values": [[batches[-1].ended_at_s + 1.5, "1"]]})
    httpserver.expect_request("/api/v1/query").respond_with_json(response)
    seen = PrometheusMetrics(httpserver.url_for(""), ("one",), **PERIODS).observe(NOW_S)
    assert seen.readings["one"].batches == tuple(batches)


def test_prometheus_is_read_as_far_back_as_two_long_batches(httpserver: HTTPServer) -> None:
    # Batches of 10 min: five minutes of scrapes have one of them, 40 min in steps of 9.6 s all four.
    long = [
        replace(each, ended_at_s=NOW_S - 600.0 * (3 - index), seconds=600.0) for index, each in enumerate(steady()[:4])
    ]
    asked = []

    def answer(request: Request) -> Response:
        asked.append(request.args["query"].rpartition("[")[2])
        return Response(prometheus_response("one", long if ":" in asked[-1] else long[-1:]))

    httpserver.expect_request("/api/v1/query").respond_with_handler(answer)
    source = PrometheusMetrics(httpserver.url_for(""), ("one",), hosts=HOSTS, **PERIODS)
    reading = source.observe(NOW_S).readings["one"]
    assert asked == ["300000ms]", "2400000ms:9600ms]"]
    # 150 rows offered in each batch of 600 s.
    assert reading.input_rows_per_s == pytest.approx(0.25)
