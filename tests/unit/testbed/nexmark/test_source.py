import pickle

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows

from gesscale.errors import InputError
from testbed.nexmark.events import events
from testbed.nexmark.source import NAME, NexmarkBatch, NexmarkOptions, NexmarkReader
from testbed.nexmark.stream import is_complete


def options(**given):
    return NexmarkOptions.parse(NAME, {"events": "120", **given})


def test_without_rates_all_events_are_due_and_a_batch_ends_at_the_cap():
    reader = NexmarkReader(options(cap_rows="50"))
    assert reader.reportLatestOffset() == {"rows": 120}
    assert reader.latestOffset({"rows": 100}, ReadMaxRows(50)) == {"rows": 120}
    assert reader.latestOffset({"rows": 0}, ReadMaxRows(50)) == {"rows": 50}
    assert NexmarkReader(options(rates="1,2", start_at="9999999999")).offered_rows() == 0
    assert NexmarkReader(options(rates="1,2", start_at="0")).offered_rows() == 120


def test_stream_and_batch_serve_the_same_events():
    stream = pickle.loads(pickle.dumps(NexmarkReader(options())))  # noqa: S301 - our own bytes
    batch = NexmarkBatch(options())

    def rows(reader, ranges):
        return pa.Table.from_batches(made for each in ranges for made in reader.read(each))

    expected = events(0, 120, events_per_s=100.0)
    assert rows(stream, stream.partitions({"rows": 0}, {"rows": 120})).equals(expected)
    assert rows(batch, batch.partitions()).combine_chunks().equals(expected)


@pytest.mark.parametrize(
    ("wrong", "place"),
    [({"rates": "1,two"}, "rates"), ({"events": "0"}, "events"), ({"events_per_s": "0"}, "events_per_s")],
)
def test_wrong_options_are_refused(wrong, place):
    with pytest.raises(InputError) as caught:
        options(**wrong)
    assert caught.value.fields["place"] == place
    with pytest.raises(InputError):
        options(rates="0,0")


def test_a_stream_is_complete_after_a_batch_without_rows():
    def progress(rows, *ends):
        return {"numInputRows": rows, "sources": [{"endOffset": {"rows": end}} for end in ends]}

    assert is_complete(progress(0, 120, 120), 120)
    assert not is_complete(progress(0, 120, 80), 120)
    assert not is_complete(progress(7, 120), 120)
    assert not is_complete(None, 120)
