"""Counting the rows of a sink while it grows."""

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from refusals import refused

from testbed.chaos.rows import HotWindows, NumberedRides, committed_rows, hot_auctions, newest_commit
from testbed.nexmark.events import BEGINS_S, BID, events
from testbed.pipeline.sink import FileSink


def commit(folder: Path, batch: int, rides: list[int], end: object) -> None:
    """Write a batch as Spark does: to the sink's log first, then to the checkpoint, unless end is None."""
    log, checkpoint = folder / "sink" / "_spark_metadata", folder / "checkpoint"
    for each in (log, checkpoint / "commits", checkpoint / "offsets"):
        each.mkdir(parents=True, exist_ok=True)
    name = f"part-{batch}.parquet"
    pq.write_table(pa.table({"ride": pa.array(rides, pa.int64())}), folder / "sink" / name)
    (log / str(batch)).write_text("v1\n" + json.dumps({"path": f"file:///x/{name}", "action": "add"}))
    if end is not None:
        offset = {"rows": end} if isinstance(end, int) else end
        (checkpoint / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{json.dumps(offset)}")
        (checkpoint / "commits" / str(batch)).write_text("v1\n{}")


def rides_of(folder: Path) -> NumberedRides:
    return NumberedRides(checkpoint=folder / "checkpoint", sink=FileSink(folder / "sink", ("ride",)))


def test_rows_of_a_batch_that_is_being_committed_do_not_count(tmp_path: Path) -> None:
    assert newest_commit(tmp_path / "checkpoint") == -1
    assert committed_rows(tmp_path / "checkpoint") == 0
    rides = rides_of(tmp_path)
    commit(tmp_path, 0, [0, 1, 2], end=3)
    commit(tmp_path, 1, [3, 4], end=None)
    assert newest_commit(tmp_path / "checkpoint") == 0
    assert (rides.count().rows, rides.count().exactly_once) == (3, True)
    commit(tmp_path, 1, [3, 4], end=5)
    assert (rides.count().rows, rides.count().exactly_once) == (5, True)
    commit(tmp_path, 2, [5, 5, 7], end=9)
    assert (rides.count().duplicated, rides.count().missing) == (1, 2)  # 5 is duplicated; 6 and 8 are missing


def test_offsets_of_another_source_are_refused(tmp_path: Path) -> None:
    commit(tmp_path, 0, [], end={"seconds": 3, "of": 4})
    with refused("checkpoint-offsets-unreadable", batch=0):
        committed_rows(tmp_path / "checkpoint")


RATE = 50.0


def write_windows(folder: Path, rows: list[tuple[int, int, int]]) -> HotWindows:
    commit(folder, 0, [], end=1)
    table = {
        "window_end": pa.array([end for end, _, _ in rows], pa.timestamp("us", tz="UTC")),
        "auction": pa.array([auction for _, auction, _ in rows], pa.int64()),
        "bids": pa.array([bids for _, _, bids in rows], pa.int64()),
    }
    pq.write_table(pa.table(table), folder / "sink" / "part-0.parquet")
    sink = FileSink(folder / "sink", ("window_end", "auction", "bids"))
    return HotWindows(sink=sink, events_per_s=RATE)


def by_definition(end_s: float) -> list[tuple[int, int, int]]:
    """Count the bids of one window by its definition: ten seconds long, its end is not in it."""
    made = events(0, int(60 * RATE), events_per_s=RATE).to_pylist()
    counts = Counter(
        event["auction"]
        for event in made
        if event["kind"] == BID and end_s - 10 <= event["at"].timestamp() - BEGINS_S < end_s
    )
    end_us = round((BEGINS_S + end_s) * 1e6)
    return [(end_us, auction, bids) for auction, bids in counts.items() if bids == max(counts.values())]


def test_lost_wrong_and_duplicated_windows_are_found(tmp_path: Path) -> None:
    rows = [row for end_s in range(2, 22, 2) for row in by_definition(end_s)]
    assert sorted(hot_auctions(round((BEGINS_S + 20) * 1e6), RATE)) == sorted(rows)
    assert write_windows(tmp_path / "good", rows).count().exactly_once
    lost = write_windows(tmp_path / "lost", rows[1:]).count()
    assert (lost.missing, lost.duplicated) == (1, 0)
    doubled = write_windows(tmp_path / "doubled", [*rows, rows[3]]).count()
    assert (doubled.missing, doubled.duplicated) == (0, 1)
    end, auction, bids = rows[-1]
    false = write_windows(tmp_path / "false", [*rows[:-1], (end, auction, bids - 1)]).count()
    assert (false.missing, false.duplicated) == (1, 1)  # the row that must be there is not, another one is
