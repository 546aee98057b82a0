import pytest

from gesscale.errors import InputError
from gesscale.spark.restarting import StateRepartition, partitions_due


def progress(*partitions, sink="ForeachBatchSink"):
    operators = [{"numShufflePartitions": each} for each in partitions]
    return {"stateOperators": operators, "sink": {"description": sink}}


@pytest.mark.parametrize(
    ("report", "replicas", "due"),
    [
        (None, 3, None),  # no batch yet
        (progress(), 3, None),  # no state
        (progress(3), 3, None),  # a part for each
        (progress(2), 3, 4),
        (progress(2), 5, 8),  # 2, 4, 8
        (progress(6, 2), 3, 4),  # the operator with the fewest decides
    ],
)
def test_partitions_are_doubled_until_each_replica_gets_one(report, replicas, due):
    assert partitions_due(report, replicas) == due


def test_the_state_of_a_query_with_a_file_sink_is_left_alone_and_said(caplog):
    assert partitions_due(progress(2, sink="FileSink[/rides]"), 3) is None
    assert "foreachBatch" in caplog.text


WITHIN_S = 60.0


class Session:
    """A session of a Spark before 4.2."""

    version = "4.1.0"


class NewSession(Session):
    """Its checkpoint manager fails when a test says so."""

    failure = None

    @property
    def _streamingCheckpointManager(self):  # noqa: N802 - Spark's name
        return self

    def repartition(self, checkpoint, partitions):
        if self.failure:
            raise self.failure
        self.done = (checkpoint, partitions)


class LastBatch:
    def __init__(self, *, ends=True):
        self.ends, self.stopped = ends, False

    def awaitTermination(self, within_s):  # noqa: N802 - Spark's name
        return self.ends and within_s == WITHIN_S

    def stop(self):
        self.stopped = True


def starts(batch=None):
    """Return a function that starts such a batch."""
    return lambda *_, once: batch or LastBatch() if once else None


def test_one_batch_is_run_to_its_end_before_the_state_is_cut():
    session, started = NewSession(), []

    def start(spark, replicas, *, once=False):
        started.append((spark, replicas, once, hasattr(session, "done")))
        return LastBatch()

    assert StateRepartition(session, "/checkpoint", start).repartition(4, 3, within_s=WITHIN_S)
    assert started == [(session, 3, True, False)]
    assert session.done == ("/checkpoint", 4)


def test_a_last_batch_that_takes_too_long_is_stopped_and_the_state_left_as_it_is(caplog):
    session, batch = NewSession(), LastBatch(ends=False)
    repartition = StateRepartition(session, "/checkpoint", starts(batch))
    assert not repartition.repartition(4, 3, within_s=WITHIN_S)
    assert batch.stopped
    assert not hasattr(session, "done")
    assert "60 s" in caplog.text


def test_a_start_without_once_and_an_old_spark_are_refused():
    with pytest.raises(InputError, match="without `once`"):
        StateRepartition(NewSession(), "/checkpoint", lambda *_: None)
    with pytest.raises(InputError, match=r"Spark 4\.2 or later, got 4\.1\.0"):
        StateRepartition(Session(), "/checkpoint", starts())
