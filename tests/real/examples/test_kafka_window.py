"""The example of a job with windows over Kafka, as its page says: feed, job, recommendation."""

import time

import pytest
from example_jobs import EXAMPLES, WAIT_S, await_batches, recommend, started

from testbed.free_port import free_port

pytestmark = pytest.mark.real

FOLDER = EXAMPLES / "kafka_window"


def await_words(log, words, process):
    """Wait until a program has said something; fail with its log where it ends before."""
    until_s = time.monotonic() + WAIT_S
    while words not in log.read_text() and time.monotonic() < until_s:
        assert process.poll() is None, log.read_text()
        time.sleep(0.5)


def test_windows_are_written_and_the_broker_tells_the_load(tmp_path):
    broker_port, port = free_port(), free_port()
    bootstrap = f"127.0.0.1:{broker_port}"
    fed, said = tmp_path / "feed", tmp_path / "job"
    with started(FOLDER / "feed.py", fed, {"BROKER_PORT": str(broker_port)}) as feed:
        await_words(fed, f"into topic readings of {bootstrap}", feed)
        with started(FOLDER / "job.py", said, {"PORT": str(port), "BOOTSTRAP": bootstrap}) as job:
            await_batches(port, 4, job, said)
            await_words(said, "|s", job)  # a row of a complete window: ten seconds, and five for late rows
            decision = recommend(
                FOLDER / "gesscale.yaml",
                "--set", f"workflow.operators.means.metrics_url='http://127.0.0.1:{port}'",
                "--set", f"workflow.operators.means.kafka.bootstrap='{bootstrap}'",
            )  # fmt: skip
    assert decision["plan"]["before"] == ["edge1"]
    reading = decision["analysis"]["reading"]
    assert reading["input_rows_per_s"] > 0  # as the broker tells it
    assert feed.returncode == 0, fed.read_text()
