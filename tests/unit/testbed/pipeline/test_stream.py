from pathlib import Path

import pytest
from refusals import refused

from gesscale.errors import InputError
from testbed.pipeline.stream import processed_rows, stream


def test_processed_rows_are_where_the_sources_ended():
    ends = ['{"rides": {"0": 40, "1": 2}}', '{"rows": 8}']
    assert processed_rows({"sources": [{"endOffset": end} for end in ends]}) == 50
    assert processed_rows(None) == 0


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, "stream-input-missing"),
        ({"rides": Path("rides")}, "stream-input-missing"),
        ({"kafka": "localhost:9092", "cap_rows_per_replica": 5}, "stream-cap-conflict"),
        ({"kafka": "localhost:9092", "trigger_s": 0.0}, "number-not-positive"),
        ({"kafka": "localhost:9092", "trigger_s": float("nan")}, "number-not-positive"),
    ],
)
def test_invalid_options_are_rejected(options, code):
    with refused(code, InputError):
        stream(checkpoint=Path("checkpoint"), **options)
