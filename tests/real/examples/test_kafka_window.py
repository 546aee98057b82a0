"""The example of a windowed job on Kafka, as on its page: feed, job, recommendation."""

import time

import pytest
from example_jobs import EXAMPLES, WAIT_S, await_batches, recommend, started

from gesscale.assembly import open_metrics
from gesscale.settings.loading import load_settings
from testbed.free_port import free_port

pytestmark = pytest.mark.real

FOLDER = EXAMPLES / "kafka_window"


def await_words(log, words, process):
    """Wait until a program has printed a text; fail with its log if it exits before."""
    until_s = time.monotonic() + WAIT_S
    while words not in log.read_text() and time.monotonic() < until_s:
        assert process.poll() is None, log.read_text()
        time.sleep(0.5)


def readings(port, bootstrap):
    """Return the readings of two steps, ten seconds apart: five batches of the job."""
    changes = [
        f"workflow.operators.means.metrics_url='http://127.0.0.1:{port}'",
        f"workflow.operators.means.kafka.bootstrap='{bootstrap}'",
    ]
    source = open_metrics(load_settings(FOLDER / "gesscale.yaml", changes), {"127.0.0.1": "edge1"})
    first = source.observe(time.time())
    time.sleep(10)
    return [seen.readings["means"] for seen in (first, source.observe(time.time()))]


def test_windows_are_written_and_the_load_is_read(tmp_path):
    broker_port, port = free_port(), free_port()
    bootstrap = f"127.0.0.1:{broker_port}"
    feed_log, job_log = tmp_path / "feed", tmp_path / "job"
    with started(FOLDER / "feed.py", feed_log, {"BROKER_PORT": str(broker_port)}) as feed:
        await_words(feed_log, f"into topic readings of {bootstrap}", feed)
        with started(FOLDER / "job.py", job_log, {"PORT": str(port), "BOOTSTRAP": bootstrap}) as job:
            await_batches(port, 4, job, job_log)
            await_words(job_log, "|s", job)  # a row of a complete window: ten seconds, and five for late rows
            decision = recommend(
                FOLDER / "gesscale.yaml",
                "--set", f"workflow.operators.means.metrics_url='http://127.0.0.1:{port}'",
                "--set", f"workflow.operators.means.kafka.bootstrap='{bootstrap}'",
            )  # fmt: skip
            first, second = readings(port, bootstrap)
    assert decision["plan"]["before"] == ["edge1"]
    assert decision["analysis"]["reading"]["input_rows_per_s"] > 0
    # The newest total of the first step is that of the driver's newest batch, that of the second the broker's.
    assert first.offered_points[-1].rows == first.batches[-1].offered_rows_total
    newest = second.batches[-1]
    driver_s, broker_s = newest.ended_at_s - newest.seconds, second.offered_points[-1].at_s
    assert driver_s < broker_s
    more = second.offered_points[-1].rows - newest.offered_rows_total
    assert second.backlog_rows == newest.backlog_rows + more
    assert more == pytest.approx(500 * (broker_s - driver_s), abs=500)  # of the feed, a second more or less
    assert second.input_rows_per_s == pytest.approx(500, rel=0.2)
    assert (newest.source_partitions, newest.tasks) == (4, 4)  # the topic's, and as many state partitions
    assert feed.returncode == 0, feed_log.read_text()
