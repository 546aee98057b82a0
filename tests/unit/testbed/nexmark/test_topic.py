"""Events between a topic and the query."""

import time

import pyarrow as pa
import pytest

from testbed.nexmark.stream import emulate_work
from testbed.pipeline.operator import WEIGHT_VARIABLE


def test_events_are_forwarded_at_the_speed_of_the_node(monkeypatch):
    monkeypatch.setenv(WEIGHT_VARIABLE, "4")
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    batches = [pa.RecordBatch.from_pydict({"number": numbers}) for numbers in ([1, 2, 3], [4])]
    assert list(emulate_work(1e6)(iter(batches))) == batches
    # 3 events and 1 of a million seconds each, on a node of weight 4; making them took next to nothing of that
    assert pauses == pytest.approx([750_000, 250_000], abs=100)
