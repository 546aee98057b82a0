import pytest

from gesscale.spark.sources import kind_of, parsed, rate_rows, sum_of_numbers

PYTHON = "org.apache.spark.sql.execution.datasources.v2.python.PythonMicroBatchStream@1"


@pytest.mark.parametrize(
    ("offset", "rows"),
    [
        ({"rides": {"0": 123, "1": 77}}, 200.0),
        ({"a": {"0": 1}, "b": {"0": 2, "1": 3}}, 6.0),
        ({"rows": 0}, 0.0),
        ([{"n": 1}, 2], 3.0),
        ({"done": True, "rows": 4}, 4.0),  # a truth value is no count
        ({"file": "a"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_numbers_of_an_offset_add_up(offset, rows):
    assert sum_of_numbers(offset) == rows


@pytest.mark.parametrize(
    ("offset", "description", "name"),
    [
        (12, "RateStreamV2[rowsPerSecond=5, rampUpTimeSeconds=0, numPartitions=default", "rate"),
        ({"offset": 10, "timestamp": 1000}, "RatePerMicroBatchStream[rowsPerBatch=10", "rate-micro-batch"),
        ({"logOffset": 2}, "FileStreamSource[file:/rides]", "files"),
        (49, "TextSocketV2[host: h, port: 1]", "socket"),
        ({"rides": {"0": 5}}, "KafkaV2[Subscribe[rides]]", "Kafka"),
        ({"rows": 5}, PYTHON, "Python, rows"),
        ({"index": 5}, PYTHON, "Python"),
        ({"p0": {"index": 5}}, PYTHON, "Python"),  # by partition, but no topic's
    ],
)
def test_kinds_are_told_apart(offset, description, name):
    assert kind_of(offset, description).name == name


@pytest.mark.parametrize("offset", [12, {"index": 5}, {"rows": True}, {}, "text", ["a"], {"t": {"0": "5"}}])
def test_what_is_not_known_is_no_kind(offset):
    assert kind_of(offset, "SomebodysStream[1]") is None


@pytest.mark.parametrize("offset", ["None", "null", "", None])
def test_no_offset_is_none(offset):
    assert parsed(offset) is None


def test_a_rate_below_its_ramp_makes_nothing_until_it_is_up():
    # 3 rows/s over 4 s of ramp: steps of 3 // 5 = 0
    assert [rate_rows(seconds, 3, 4) for seconds in (4, 5)] == [0.0, 3.0]
