"""Counting the rows of a sink while it grows."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from testbed.chaos.exactness import GrowingSink, committed_rows


def commit(folder: Path, batch: int, rides: list[int], end: int | None) -> None:
    """Write a batch as Spark does: to the sink's log first, then to the checkpoint, unless end is None."""
    log, checkpoint = folder / "sink" / "_spark_metadata", folder / "checkpoint"
    for each in (log, checkpoint / "commits", checkpoint / "offsets"):
        each.mkdir(parents=True, exist_ok=True)
    name = f"part-{batch}.parquet"
    pq.write_table(pa.table({"ride": pa.array(rides, pa.int64())}), folder / "sink" / name)
    (log / str(batch)).write_text("v1\n" + json.dumps({"path": f"file:///x/{name}", "action": "add"}))
    if end is not None:
        (checkpoint / "offsets" / str(batch)).write_text(f'v1\n{{}}\n{{"rows":{end}}}')
        (checkpoint / "commits" / str(batch)).write_text("v1\n{}")


def test_rows_of_a_batch_that_is_being_committed_do_not_count(tmp_path: Path) -> None:
    assert committed_rows(tmp_path / "checkpoint") == (-1, 0)
    sink = GrowingSink(tmp_path / "sink")
    commit(tmp_path, 0, [0, 1, 2], end=3)
    commit(tmp_path, 1, [3, 4], end=None)
    assert committed_rows(tmp_path / "checkpoint") == (0, 3)
    assert sink.count(3).exactly_once
    commit(tmp_path, 1, [3, 4], end=5)
    assert sink.count(5).exactly_once


def test_lost_and_doubled_rows_are_found(tmp_path: Path) -> None:
    commit(tmp_path, 0, [0, 1, 1, 3], end=5)
    count = GrowingSink(tmp_path / "sink").count(5)
    assert (count.duplicated, count.missing) == (1, 2)  # 1 is there twice; 2 and 4 are not there
