from pathlib import Path

import pytest

from gesscale.errors import InputError
from testbed.pipeline.stream import processed_rows, stream


def test_processed_rows_are_where_the_sources_ended():
    ends = ['{"rides": {"0": 40, "1": 2}}', '{"rows": 8}']
    assert processed_rows({"sources": [{"endOffset": end} for end in ends]}) == 50
    assert processed_rows(None) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "--rides and --to"),
        ({"rides": Path("rides")}, "--rides and --to"),
        ({"kafka": "127.0.0.1:9092", "cap_rows_per_replica": 5}, "maxOffsetsPerTrigger"),
        ({"kafka": "127.0.0.1:9092", "trigger_s": 0.0}, "trigger-s > 0"),
        ({"kafka": "127.0.0.1:9092", "trigger_s": float("nan")}, "trigger-s > 0"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        stream(checkpoint=Path("checkpoint"), **options)
