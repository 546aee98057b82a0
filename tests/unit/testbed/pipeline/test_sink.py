import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from gesscale.errors import InputError
from testbed.pipeline.sink import SinkCount, committed_files, verify_sink


class FileSink:
    """A folder like that of Spark's file sink."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "_spark_metadata").mkdir(parents=True)

    def file(self, name, rides, copy=0):
        table = pa.table({"ride": pa.array(rides, pa.int64()), "copy": pa.array([copy] * len(rides), pa.int32())})
        pq.write_table(table, self.folder / name)
        return name

    def log(self, batch, *names, action="add"):
        entries = [json.dumps({"path": f"file:///was/elsewhere/{name}", "size": 1, "action": action}) for name in names]
        (self.folder / "_spark_metadata" / batch).write_text("\n".join(["v1", *entries]))


@pytest.fixture
def sink(tmp_path):
    return FileSink(tmp_path / "out")


def test_rows_of_committed_files_are_counted(sink):
    sink.log("0", sink.file("a.parquet", [0, 1]), sink.file("b.parquet", [0, 1], copy=1))
    sink.log("1", sink.file("c.parquet", [2]))
    count = verify_sink(sink.folder, 5)
    assert count == SinkCount(rows=5, distinct=5, duplicated=0, missing=0)
    assert count.exactly_once


def test_missing_and_duplicate_rows_are_counted(sink):
    sink.log("0", sink.file("a%20b.parquet".replace("%20", " "), [0, 1]).replace(" ", "%20"))
    sink.log("1", sink.file("b.parquet", [1]))
    sink.file("orphan.parquet", [1, 2])
    count = verify_sink(sink.folder, 3)
    assert count == SinkCount(rows=3, distinct=2, duplicated=1, missing=1)
    assert not count.exactly_once


def test_a_compact_file_stands_for_the_batches_up_to_it(sink):
    names = [sink.file(f"{number}.parquet", [number]) for number in range(4)]
    sink.log("8", names[0])  # older than the compact file and part of it
    sink.log("9.compact", *names[:3])
    sink.log("10", names[3])  # sorts before 9 as text, comes after it as a number
    assert [path.name for path in committed_files(sink.folder)] == names
    assert verify_sink(sink.folder, 4).exactly_once
    sink.log("11", names[3], action="delete")
    assert [path.name for path in committed_files(sink.folder)] == names[:3]


def test_a_damaged_sink_is_rejected(sink, tmp_path):
    with refused("sink-log-missing", InputError):
        verify_sink(tmp_path, 1)
    sink.log("0", "gone.parquet")
    with refused("sink-file-unreadable", InputError):
        verify_sink(sink.folder, 1)
    (sink.folder / "_spark_metadata" / "0").write_text("v2\n{}")
    with refused("sink-version-unknown", InputError, got="v2"):
        verify_sink(sink.folder, 1)
