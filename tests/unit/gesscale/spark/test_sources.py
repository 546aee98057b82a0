"""What is concluded from progress reports as PySpark 4.3 wrote them, source by source."""

import json
from pathlib import Path

import pytest

from gesscale.spark.sources import Position, Sources

RECORDED = json.loads((Path(__file__).parents[3] / "data" / "progress" / "sources.json").read_text("utf-8"))


def positions(batches, sources=None):
    sources = sources or Sources()
    return [sources.position(batch["sources"], batch["numInputRows"]) for batch in batches]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("rate", [(50, 0), (100, 0), (150, 0), (200, 0)]),  # 50 rows/s from second 0, a second each
        ("rate that ramps up", [(10, 0), (30, 0), (60, 0), (100, 0)]),  # 10, 20, 30, 40 rows
        ("Kafka", [(100, 70), (100, 40), (100, 10), (100, 0)]),  # batches of 30 of 100
        ("socket", [(50, 0), (160, 0), (275, 0), (400, 0)]),  # batches of 50, 110, 115, 125 took all
        # before the second batch there is nothing to compare with
        ("Python with admission control", [None, (100, 86), (100, 79), (100, 72)]),
        ("Python without admission control", [None, (8, 0), (12, 0), (16, 0)]),
        # the rate source: 100 rows by the first batch, 50 in the second, then none; the Python source offers 100
        ("rate and Python", [None, (250, 86), (250, 79), (250, 72)]),
    ],
)
def test_rows_offered_and_waiting_follow_from_recorded_offsets(name, told):
    found = positions(RECORDED[name])
    assert [None if each is None else (each.offered, each.backlog) for each in found] == told


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("files", "files do not say how many rows they hold"),
        ("rate-micro-batch", "it makes its rows batch by batch"),
        ("Python, simple reader", "it reports no latest offset"),
    ],
)
def test_a_source_that_tells_no_latest_offset_is_unknown_for_one_reason(name, why):
    sources = Sources()
    assert positions(RECORDED[name], sources) == [None] * 4
    (problem,) = sources.problems
    assert why in problem
    assert "unknown (null)" in problem


def batch(start, end, latest, rows, description="mine"):
    source = {"description": description, "startOffset": start, "endOffset": end, "latestOffset": latest}
    return {"numInputRows": rows, "sources": [{**source, "numInputRows": rows}]}


PYTHON = "org.apache.spark.sql.execution.datasources.v2.python.PythonMicroBatchStream@1"


def test_an_offset_of_no_known_kind_is_unknown_and_its_shape_is_said():
    sources = Sources()
    assert positions([batch({"shard": "a-1"}, {"shard": "a-2"}, {"shard": "a-9"}, 5)], sources) == [None]
    assert '{"shard": "a-2"} is of no known kind' in sources.problems[0]


def test_a_python_source_that_counts_milliseconds_is_never_believed():
    sources = Sources()
    given = [
        batch(None, {"at": 1000}, {"at": 9000}, 7, PYTHON),
        batch({"at": 1000}, {"at": 2000}, {"at": 9000}, 7, PYTHON),
    ]
    # 7 rows between 1000 and 2000; afterwards even a batch that fits by chance changes nothing
    given.append(batch({"at": 2000}, {"at": 2007}, {"at": 9000}, 7, PYTHON))
    assert positions(given, sources) == [None, None, None]
    assert "read 7 rows between offsets that count 1000" in sources.problems[0]


def test_more_rows_read_than_offered_are_said_once_and_cost_their_batch():
    sources = Sources()
    topic = [{"rides": {"0": rows}} for rows in (0, 50, 100, 150, 300)]
    # the second batch ran tasks again when an executor was lost: 60 rows where the offsets count 50
    given = [batch(low, high, topic[4], rows) for low, high, rows in zip(topic, topic[1:], (50, 60, 50), strict=False)]
    assert positions(given[:2], sources) == [Position(300, 250), None]
    assert "read 60 rows between offsets that count 50" in sources.problems[0]
    assert positions(given[2:], sources) == [Position(300, 150)]
    assert sources.problems == []


def test_a_query_that_reads_its_rows_twice_is_unknown_in_each_batch_for_one_reason():
    sources = Sources()
    topic = [{"rides": {"0": rows}} for rows in (0, 50, 90, 300)]
    given = [batch(topic[0], topic[1], topic[3], 100), batch(topic[1], topic[2], topic[3], 80)]
    assert positions(given[:1], sources) == [None]
    said = sources.problems
    assert positions(given[1:], sources) == [None]
    assert sources.problems == said
    assert "reads its rows more than once" in said[0]


def test_kafka_may_skip_the_markers_of_transactions():
    topic = [{"rides": {"0": rows}} for rows in (0, 51, 100)]
    assert positions([batch(topic[0], topic[1], topic[2], 50)]) == [Position(100, 49)]


def test_what_the_user_says_of_offsets_holds():
    sources = Sources(lambda offset: json.loads(offset)["pages"] * 100.0)
    given = [batch({"pages": 1}, {"pages": 3}, {"pages": 7}, 200)]
    assert positions(given, sources) == [Position(600, 400)]
