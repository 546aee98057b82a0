"""Loads from a CSV file or a Prometheus server, and what their rates show."""

from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from gesscale.errors import InputError, MetricsUnavailableError
from testbed.backtest.law import learn_rates
from testbed.backtest.series import Point, Prometheus, query_of_points, read_points
from testbed.free_port import free_port
from tests.refusals import refused

HEADER = "timestamp,rows_per_s,lag_rows,replicas\n"


def points(*measured: tuple[float, float, int]) -> list[Point]:
    return [
        Point(timestamp=60.0 * number, rows_per_s=rate, lag_rows=lag, replicas=replicas)
        for number, (rate, lag, replicas) in enumerate(measured)
    ]


def test_a_csv_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "load.csv"
    file.write_text(HEADER + "2026-11-28T10:00:00,100,0,2\n1795860060,200,600,2\n1795860120,100,0,3\n")
    read = read_points(file)
    assert [each.timestamp for each in read] == [1795860000, 1795860060, 1795860120]
    query = query_of_points("load", read, 20.0)
    # the lag grows by 600 of 6,000 rows in 60 s, then 12,000 come and the 600 are read as well
    assert [batch.rows for batch in query.batches] == [1800] * 3 + [4200] * 3
    assert query.offered.rows.tolist() == [0, 2000, 4000, 6000, 10_000, 14_000, 18_000]
    usage = query.usage(query.span_s[0], 60.0)
    assert (usage.replicas, usage.late_min) == (2, 0)


@pytest.mark.parametrize("row", ["0,100,0,0", "0,-1,0,1", "0,100,,1", "yesterday,1,0,1"])
def test_wrong_cells_are_refused(tmp_path: Path, row: str) -> None:
    file = tmp_path / "load.csv"
    file.write_text(f"{HEADER}{row}\n")
    with refused("csv-cell-invalid", InputError, source=file):
        read_points(file)


def test_times_must_rise() -> None:
    twice = [*points((1, 0, 1), (1, 0, 1), (1, 0, 1)), *points((1, 0, 1))]
    with refused("backtest-points-unusable", InputError, got=4):
        query_of_points("load", twice, None)


def test_rates_while_rows_wait_show_what_a_replica_carries() -> None:
    # 400 rows/s come; two replicas process 300 of them, so the lag grows by 6,000 a minute; four process 600
    growing = [(400.0, 20_000.0 + 6000 * minute, 2) for minute in range(10)]
    falling = [(400.0, 80_000.0 - 12_000 * minute, 4) for minute in range(5)]
    found = learn_rates(query_of_points("load", points(*growing, *falling), 10.0))
    assert found.replicas == (2, 4)
    assert not found.left_open
    assert found.laws[0].mst_rows_per_s(3, 10.0, None) == pytest.approx(450, rel=0.05)  # 150 each


def test_rates_without_waiting_rows_are_a_lower_bound() -> None:
    found = learn_rates(query_of_points("load", points(*[(300.0, 100.0, 3)] * 10), 10.0))
    assert [each.code for each in found.left_open] == ["backtest-capacity-unseen"]
    assert found.laws[0].mst_rows_per_s(1, 10.0, None) == pytest.approx(100)


def server_of(httpserver: HTTPServer, *values: list[list[object]]) -> Prometheus:
    """Return a server that answers the queries a, b and c, one after the other."""
    for name, series in zip("abc", values, strict=True):
        result = [{"metric": {}, "values": each} for each in series]
        httpserver.expect_request(
            "/api/v1/query", query_string={"query": f"({name})[3600s:60s]", "time": "7200"}
        ).respond_with_json({"status": "success", "data": {"resultType": "matrix", "result": result}})
    queries = dict(zip(("rows_per_s", "lag_rows", "replicas"), "abc", strict=True))
    return Prometheus(httpserver.url_for("/"), queries, "", 7200, 3600)


def test_three_queries_of_a_server_are_joined_by_time(httpserver: HTTPServer) -> None:
    rates = [[60, "10"], [120, "20"], [180, "30"]]
    server = server_of(httpserver, [rates], [[[60, "0"], [120, "5"]]], [[[60, "2"], [120, "0"], [180, "2"]]])
    assert server.points() == [Point(timestamp=60, rows_per_s=10, lag_rows=0, replicas=2)]  # no replicas at 120


def test_a_query_gives_one_series(httpserver: HTTPServer) -> None:
    series = [[60, "1"]]
    with refused("backtest-series-ambiguous", InputError, query="a", got=2):
        server_of(httpserver, [series, series], [series], [series]).points()


def test_a_server_that_cannot_be_reached() -> None:
    queries = dict.fromkeys(("rows_per_s", "lag_rows", "replicas"), "a")
    with refused("prometheus-unreachable", MetricsUnavailableError):
        Prometheus(f"http://127.0.0.1:{free_port()}/", queries, "", 7200, 3600).points()
