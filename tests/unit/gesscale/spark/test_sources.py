"""Offered rows and backlog from progress reports that PySpark 4.3 wrote, for each source."""

import json
from pathlib import Path

import pytest

from gesscale.spark.sources import _PYTHON, Position, Sources, end_offset_rows, partitions_of

RECORDED = json.loads((Path(__file__).parents[3] / "data" / "progress" / "sources.json").read_text("utf-8"))


def positions(batches, sources=None):
    sources = sources or Sources()
    return [sources.position(batch["sources"], batch["numInputRows"]) for batch in batches]


def reported(sources):
    (problem,) = sources.problems
    return problem.code, problem.fields


@pytest.mark.parametrize(
    ("name", "expected"),
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
def test_rows_offered_and_waiting_follow_from_recorded_offsets(name, expected):
    found = positions(RECORDED[name])
    assert [None if each is None else (each.offered, each.backlog) for each in found] == expected


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("files", "source-files-uncounted"),
        ("rate-micro-batch", "source-without-backlog"),
        ("Python, simple reader", "source-offset-missing"),
    ],
)
def test_a_source_without_latest_offset_is_unknown_for_one_reason(name, code):
    sources = Sources()
    assert positions(RECORDED[name], sources) == [None] * 4
    (problem,) = sources.problems
    assert problem.code == code


@pytest.mark.parametrize(
    ("name", "partitions", "rows"),
    [
        ("Kafka", 2, 100.0),
        ("rate", None, None),  # numPartitions=default: one for each core
        ("rate-micro-batch", 1, None),
        ("files", None, None),
        ("socket", None, None),
        ("Python with admission control", None, None),
        ("rate and Python", None, None),
    ],
)
def test_partitions_and_end_offsets_are_known_for_some_sources(name, partitions, rows):
    reports = RECORDED[name][1]["sources"]
    assert (partitions_of(reports), end_offset_rows(reports)) == (partitions, rows)


def test_partitions_of_several_sources_add_up_and_their_end_offsets_do_not():
    topic = RECORDED["Kafka"][1]["sources"][0]
    rate = {"description": "RateStreamV2[rowsPerSecond=50, rampUpTimeSeconds=0, numPartitions=3", "latestOffset": 7}
    assert partitions_of([topic, rate]) == 5
    assert end_offset_rows([topic, topic]) is None
    assert partitions_of([{**topic, "latestOffset": None}]) == 2  # those of the end offset


def batch(start, end, latest, rows, description="mine"):
    source = {"description": description, "startOffset": start, "endOffset": end, "latestOffset": latest}
    return {"numInputRows": rows, "sources": [{**source, "numInputRows": rows}]}


PYTHON = f"{_PYTHON}MicroBatchStream@1"


def test_an_offset_of_unknown_kind_is_reported_with_its_shape():
    sources = Sources()
    assert positions([batch({"shard": "a-1"}, {"shard": "a-2"}, {"shard": "a-9"}, 5)], sources) == [None]
    assert reported(sources) == ("source-kind-unknown", {"source": "the source mine", "offset": '{"shard": "a-2"}'})


def test_a_python_source_that_counts_milliseconds_is_unknown():
    sources = Sources()
    given = [
        batch(None, {"at": 1000}, {"at": 9000}, 7, PYTHON),
        batch({"at": 1000}, {"at": 2000}, {"at": 9000}, 7, PYTHON),
    ]
    # 7 rows between 1000 and 2000; afterwards even a batch that fits by chance changes nothing
    given.append(batch({"at": 2000}, {"at": 2007}, {"at": 9000}, 7, PYTHON))
    assert positions(given, sources) == [None, None, None]
    assert reported(sources)[0] == "source-rows-differ"
    assert (sources.problems[0].fields["rows"], sources.problems[0].fields["counted"]) == (7, 1000)


def test_more_rows_read_than_offered_make_one_batch_unknown():
    sources = Sources()
    topic = [{"rides": {"0": rows}} for rows in (0, 50, 100, 150, 300)]
    # the second batch ran tasks again when an executor was lost: 60 rows where the offsets count 50
    given = [batch(low, high, topic[4], rows) for low, high, rows in zip(topic, topic[1:], (50, 60, 50), strict=False)]
    assert positions(given[:2], sources) == [Position(300, 250), None]
    assert reported(sources) == ("source-rows-differ", {"source": "the source mine", "rows": 60, "counted": 50})
    assert positions(given[2:], sources) == [Position(300, 150)]
    assert sources.problems == []


def test_a_query_that_reads_its_rows_twice_is_unknown():
    sources = Sources()
    topic = [{"rides": {"0": rows}} for rows in (0, 50, 90, 300)]
    given = [batch(topic[0], topic[1], topic[3], 100), batch(topic[1], topic[2], topic[3], 80)]
    assert positions(given[:1], sources) == [None]
    problems = sources.problems
    assert positions(given[1:], sources) == [None]
    assert sources.problems == problems
    assert reported(sources)[0] == "source-rows-differ"


def test_kafka_may_skip_the_markers_of_transactions():
    topic = [{"rides": {"0": rows}} for rows in (0, 51, 100)]
    assert positions([batch(topic[0], topic[1], topic[2], 50)]) == [Position(100, 49)]


def test_the_users_offset_rows_are_used():
    sources = Sources(lambda offset: json.loads(offset)["pages"] * 100.0)
    given = [batch({"pages": 1}, {"pages": 3}, {"pages": 7}, 200)]
    assert positions(given, sources) == [Position(600, 400)]
