import pickle
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pytest_httpserver import HTTPServer
from refusals import logged_codes, refused

from gesscale.errors import InputError
from testbed.pipeline.admission import LiveReplicas
from testbed.pipeline.replay import ReplayOptions, ReplayReader, RideRange, open_rides

BEGINS = datetime(2015, 1, 6, 4)


@pytest.fixture
def rides(tmp_path):
    """Ten rides, one every 10 s, in row groups of three."""
    numbers = list(range(10))
    pickup_times = [BEGINS + timedelta(seconds=10 * number) for number in numbers]
    table = pa.table(
        {
            "ride": pa.array(numbers, pa.int64()),
            "pickup_time": pa.array(pickup_times, pa.timestamp("us")),
            "pickup_longitude": pa.array([-74.0 + n / 100 for n in numbers]),
            "pickup_latitude": pa.array([40.7] * 10),
        }
    )
    pq.write_table(table, tmp_path / "part-0.parquet", row_group_size=3)
    return tmp_path


def reader(rides, **options):
    texts = {"path": str(rides), "copies": "2", "speed": "10", "start_at": "0", **options}
    return ReplayReader(ReplayOptions.parse("gesscale-replay", texts))


def test_a_task_reads_its_rows_with_their_due_times(rides):
    store = open_rides(str(rides))
    assert store.read(2, 7)["ride"].to_pylist() == [2, 3, 4, 5, 6]  # across row groups
    assert store.read(4, 4).num_rows == 0
    first_pickup_s = store.pickup_s()[0]
    table = pa.Table.from_batches(reader(rides).read(RideRange(3, 8, first_pickup_s)))
    # rows 3..7 of two copies each: ride 1 copy 1, rides 2 and 3 twice; 10 s apart at speed 10 is 1 s
    keys = list(zip(table["ride"].to_pylist(), table["copy"].to_pylist(), strict=True))
    assert keys == [(1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]
    assert table["due_at_s"].to_pylist() == [1.0, 2.0, 2.0, 3.0, 3.0]


def test_a_batch_ends_at_the_cap(rides):
    source = reader(rides, cap_rows="7")
    assert source.getDefaultReadLimit() == ReadMaxRows(7)
    assert source.latestOffset({"rows": 5}, ReadMaxRows(7)) == {"rows": 12}
    assert source.latestOffset({"rows": 18}, ReadMaxRows(7)) == {"rows": 20}
    assert source.latestOffset({"rows": 5}, ReadAllAvailable()) == {"rows": 20}
    assert source.reportLatestOffset() == {"rows": 20}
    early = reader(rides, start_at="9999999999", cap_rows="7")
    assert early.latestOffset({"rows": 0}, ReadMaxRows(7)) == {"rows": 0}
    assert early.partitions({"rows": 0}, {"rows": 0}) == []


def test_cap_and_tasks_follow_the_live_replicas(rides, httpserver: HTTPServer):
    httpserver.expect_request("/replicas").respond_with_json({"replicas": 3, "hosts": ["a", "b", "c"]})
    url = httpserver.url_for("/replicas")
    source = reader(rides, cap_rows_per_replica="4", replicas_url=url)
    assert source.latestOffset({"rows": 0}, source.getDefaultReadLimit()) == {"rows": 12}
    tasks = source.partitions({"rows": 0}, {"rows": 12})
    assert [(task.start, task.end) for task in tasks] == [(0, 4), (4, 8), (8, 12)]


def batch(number, **by_host):
    hosts = {host: {"rows": rows, "busy_s": busy_s} for host, (rows, busy_s) in by_host.items()}
    return {"batch_id": number, "by_host": hosts or None}


def test_tasks_are_cut_by_the_speeds_of_the_last_batches(rides, httpserver: HTTPServer):
    httpserver.expect_request("/replicas").respond_with_json({"replicas": 2, "hosts": ["a", "b"]})
    first = [batch(0, a=(8.0, 9.0), b=(8.0, 1.0)), batch(1, a=(8.0, 8.0), b=(8.0, 1.0))]
    httpserver.expect_request("/batches", query_string="after=-1").respond_with_json({"batches": first})
    second = [batch(2), batch(3, a=(8.0, 4.0), b=(8.0, 1.0))]
    httpserver.expect_request("/batches", query_string="after=1").respond_with_json({"batches": second})
    source = reader(rides, replicas_url=httpserver.url_for("/replicas"))

    def tasks():
        return [task.end - task.start for task in source.partitions({"rows": 0}, {"rows": 20})]

    assert tasks() == [10, 10]  # two batches are not enough: their executors may have been cold
    # a does 2 rows/s at best and b 8: 0.2 of 20 rows at first; then twice the share of what is left; least 0.15 of 4
    assert tasks() == [4, 4, 4, 3, 2, 1, 1, 1]


def test_a_reader_travels_to_executors_without_its_schedule(rides):
    source = reader(rides, cap_rows="7")
    source.reportLatestOffset()
    travelled = pickle.loads(pickle.dumps(source))  # noqa: S301 - our own bytes
    assert travelled._schedule is None
    assert travelled.reportLatestOffset() == {"rows": 20}


@pytest.mark.parametrize("response", ["<html>", "{}", '{"replicas": null}', '{"replicas": "many"}', "[]"])
def test_one_replica_is_assumed_after_an_invalid_response(httpserver: HTTPServer, caplog, response):
    httpserver.expect_request("/replicas").respond_with_data(response)
    replicas = LiveReplicas(httpserver.url_for("/replicas"))
    assert replicas.count() == 1
    assert logged_codes(caplog.text) == ["live-replicas-unknown"]
    assert LiveReplicas("http://localhost:9/replicas").count() == LiveReplicas(None).count() == 1


@pytest.mark.parametrize(
    ("options", "code", "place"),
    [
        ({"speed": "5x"}, "field-invalid", "speed"),
        ({"cap_rows": "0"}, "field-invalid", "cap_rows"),
        ({"cap_rows": "5", "cap_rows_per_replica": "5"}, "batch-caps-conflict", ""),
    ],
)
def test_invalid_options_are_rejected(rides, options, code, place):
    with refused(code, InputError, source="gesscale-replay", place=place):
        reader(rides, **options)


def test_a_folder_without_rides_is_rejected(tmp_path):
    with refused("rides-not-found", InputError):
        open_rides(str(tmp_path))
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    with refused("rides-columns-missing", InputError):
        open_rides(str(tmp_path))
    (tmp_path / "a.parquet").write_text("no")
    with refused("rides-unreadable", InputError):
        open_rides(str(tmp_path))
