"""Offered rows and backlog from progress reports that PySpark 4.3 wrote, for each source."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from gesscale.spark.source_kinds import _PYTHON
from gesscale.spark.sources import Position, Sources, end_offset_rows, partitions_of

PROGRESS = Path(__file__).parents[3] / "data" / "progress"
RECORDED = json.loads((PROGRESS / "sources.json").read_text("utf-8"))
CHANGES = json.loads((PROGRESS / "kafka_changes.json").read_text("utf-8"))


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


def batch(start, end, latest, rows, description="KafkaV2[Subscribe[rides]]"):
    source = {"description": description, "startOffset": start, "endOffset": end, "latestOffset": latest}
    return {"numInputRows": rows, "sources": [{**source, "numInputRows": rows}]}


PYTHON = f"{_PYTHON}MicroBatchStream@1"


def test_an_offset_of_unknown_kind_is_reported_with_its_shape():
    sources = Sources()
    assert positions([batch({"shard": "a-1"}, {"shard": "a-2"}, {"shard": "a-9"}, 5, "mine")], sources) == [None]
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


@pytest.mark.parametrize(
    ("rows", "repeated"),
    [
        ((50, 60, 50), (0, 10, 0)),  # tasks ran again in the second batch, when an executor was lost
        ((100, 100, 100), (50, 50, 50)),  # two actions in foreachBatch
        ((51, 52, 51), (1, 2, 1)),  # isEmpty() and a write
    ],
)
def test_rows_that_a_batch_repeats_count_once(rows, repeated):
    sources = Sources()
    topic = [{"rides": {"0": count}} for count in (0, 50, 100, 150, 300)]
    for low, high, read, more, backlog in zip(topic, topic[1:], rows, repeated, (250, 200, 150), strict=False):
        assert positions([batch(low, high, topic[4], read)], sources) == [Position(300, backlog)]
        assert sources.repeated_rows == more
        assert [problem.code for problem in sources.problems] == ["source-rows-repeated"] * (more > 0)


def growths(found):
    return [round(after.offered - before.offered, 1) for before, after in pairwise(found)]


def test_a_topic_that_is_made_again_counts_on():
    sources, codes = Sources(), []
    found = []
    for each in CHANGES["topic made again"]:
        found.append(sources.position(each["sources"], each["numInputRows"]))
        codes += [problem.code for problem in sources.problems]
    # 200 rows/s: 217 came into the new topic before batch 6, which read none of them: Spark begins at offset 217
    assert growths(found) == [935, 115, 368, 400, 402, 217, 51, 144, 398, 394, 406, 403]
    assert {each.backlog for each in found} == {0}
    assert codes == ["source-counter-restarted"]


def test_topics_of_a_pattern_come_and_go():
    sources, notes = Sources(), []
    found = []
    for each in CHANGES["topics of a pattern come and go"]:
        found.append(sources.position(each["sources"], each["numInputRows"]))
        notes += sources.problems
    # 200 rows/s, and 50 more from batch 7 on; day-1 ends in batch 11, and is gone in batch 12
    assert growths(found)[5:] == [397, 485, 499, 506, 502, 140, 100, 100, 100, 99]
    (note,) = notes
    assert (note.code, note.fields["topics"], note.fields["partitions"]) == ("source-counter-restarted", "day-2", 1)


def test_markers_of_transactions_are_not_counted():
    found = positions(CHANGES["a transaction for each row"])
    assert growths(found) == [8, 88, 80, 80, 80]  # 40 rows/s; the offsets grow by twice as many
    assert found[0] == Position(2, 0)


def kafka(start, end, latest, rows):
    return batch(
        *({"rides": {str(number): count for number, count in enumerate(each)}} for each in (start, end, latest)), rows
    )


@pytest.mark.parametrize(
    ("latest", "growth", "partitions"),
    [
        ([90, 1200], 90, 1),  # one of two partitions began again, 90 rows ago, and no row came to the other
        ([1100, 1200, 70], 170, 1),  # a partition was added
        ([20, 30], 50, 2),
        ([999, 1200], None, 1),  # a log that lost its last row: nobody knows how many came
        ([1100, 1200, 5_000_000], None, 1),  # a topic full of old rows
    ],
)
def test_a_counter_that_falls_or_is_new_counts_from_there(latest, growth, partitions):
    sources = Sources()
    # 100 rows a batch in partition 0
    found = positions([kafka([c, 1200], [c + 100, 1200], [c + 100, 1200], 100) for c in (800, 900)], sources)
    found += positions([kafka([1000, 1200], latest, latest, 0)], sources)
    (note,) = sources.problems
    assert (note.code, note.fields["partitions"]) == ("source-counter-restarted", partitions)
    assert found[-1].offered == (200 + growth if growth else 0.5)
    more = [count + 100 for count in latest]
    found += positions([kafka(latest, more, more, 100 * len(latest))], sources)
    assert growths(found)[-1] == 100 * len(latest)
    assert sources.problems == []


def test_a_batch_that_was_planned_before_the_topic_was_made_again():
    sources = Sources()
    given = [kafka([0], [100], [300], 100), kafka([100], [200], [40], 100), kafka([40], [90], [90], 50)]
    found = positions(given[:2], sources)
    assert (found[0], found[1]) == (Position(300, 200), None)
    assert reported(sources)[0] == "source-counter-restarted"


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([0] * 8, "source-rows-uneven"),  # all were deleted by the retention time
        ([10] * 8, "source-rows-uneven"),  # a clock
        ([100] * 6 + [30] * 4, "source-rows-uneven"),  # transactions are aborted from now on
    ],
)
def test_rows_that_the_offsets_do_not_show_are_unknown(rows, code):
    sources = Sources()
    given = [kafka([100 * n], [100 * n + 100], [100 * n + 100], read) for n, read in enumerate(rows)]
    assert positions(given, sources)[-1] is None
    assert [problem.code for problem in sources.problems] == [code]
    # ten batches later they agree, and what came meanwhile is counted
    first = 100 * len(rows)
    more = [kafka([c], [c + 100], [c + 100], 100) for c in range(first, first + 1000, 100)]
    assert positions(more, sources)[-1].backlog == 0
    assert sources.problems == []


def test_rows_that_are_deleted_while_a_query_is_behind_are_load():
    # At the end of the topic each offset was a row. Then 400 rows a batch come, and of the 200 that it could read,
    # retention has deleted a half: the load is 400 a batch.
    sources = Sources()
    positions([kafka([n * 200], [n * 200 + 200], [n * 200 + 200], 200) for n in range(3)], sources)
    found = positions([kafka([600 + n * 200], [800 + n * 200], [2000 + n * 400], 100) for n in range(8)], sources)
    assert growths(found) == [400] * 7


@pytest.mark.parametrize("unit", [1, 1000, 10**6, 10**9])
def test_a_time_is_never_taken_for_rows(unit):
    sources = Sources()
    at = 1_767_225_600 * unit
    shape = {"plc1": {"0": at}}
    # a row for each tick of the clock: as many rows as the offsets count
    given = [batch({"plc1": {"0": at + n}}, {"plc1": {"0": at + n + 1}}, shape, 1, "mine") for n in range(4)]
    assert positions(given, sources) == [None] * 4
    assert reported(sources)[0] == "source-offset-is-time"


def test_kafka_may_skip_the_markers_of_transactions():
    topic = [{"rides": {"0": rows}} for rows in (0, 51, 100)]
    # 50 rows for 51 offsets; 100 offsets, 49 of which wait
    (found,) = positions([batch(topic[0], topic[1], topic[2], 50)])
    assert (found.offered, found.backlog) == (98.039, 48.039)


def test_the_users_offset_rows_are_used():
    sources = Sources(lambda offset: json.loads(offset)["pages"] * 100.0)
    given = [batch({"pages": 1}, {"pages": 3}, {"pages": 7}, 200)]
    assert positions(given, sources) == [Position(600, 400)]
