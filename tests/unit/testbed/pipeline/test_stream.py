from pathlib import Path

import pytest

from gesscale.errors import InputError
from testbed.pipeline.stream import KafkaRoute, StreamOptions, processed_rows

ROUTE = KafkaRoute(bootstrap="127.0.0.1:9092", topic="rides", output_topic="nearest", jars=())


def test_processed_rows_are_where_the_sources_ended():
    ends = ['{"rides": {"0": 40, "1": 2}}', '{"rows": 8}']
    assert processed_rows({"sources": [{"endOffset": end} for end in ends]}) == 50
    assert processed_rows(None) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "--rides and --to"),
        ({"rides": Path("rides")}, "--rides and --to"),
        ({"kafka": ROUTE, "cap_rows_per_replica": 5}, "maxOffsetsPerTrigger"),
        ({"kafka": ROUTE, "trigger_s": 0.0}, "trigger-s > 0"),
        ({"kafka": ROUTE, "trigger_s": float("nan")}, "trigger-s > 0"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        StreamOptions(operator="nearest", checkpoint=Path("checkpoint"), **options)
