"""The example of a windowed job on Kafka, as on its page: feed, job, recommendation."""

import time

import pytest
from example_jobs import EXAMPLES, WAIT_S, await_batches, recommend, started

from testbed.free_port import free_port

pytestmark = pytest.mark.real

FOLDER = EXAMPLES / "kafka_window"


def await_words(log, words, process):
    """Wait until a program has printed a text; fail with its log if it exits before."""
    until_s = time.monotonic() + WAIT_S
    while words not in log.read_text() and time.monotonic() < until_s:
        assert process.poll() is None, log.read_text()
        time.sleep(0.5)


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
    assert decision["plan"]["before"] == ["edge1"]
    reading = decision["analysis"]["reading"]
    assert reading["input_rows_per_s"] > 0  # reported by the broker
    assert feed.returncode == 0, feed_log.read_text()
