"""Queries of Nexmark over a topic of a real broker give the rows that a batch over the same events gives."""

import json
import subprocess
import sys

import pytest

from testbed.pipeline.kafka_broker import running_broker

pytestmark = pytest.mark.real

EVENTS, CAP_ROWS, PARTITIONS = 10_000, 3000, 4


def nexmark(*words, timeout_s=600):
    command = [sys.executable, "-m", "testbed.nexmark", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("kafka") / "broker", partitions=PARTITIONS) as running:
        words = ("--kafka", running.bootstrap, "--events", EVENTS, "--partitions", PARTITIONS)
        done = nexmark("produce", *words)
        assert json.loads(done.stdout) == {"events": EVENTS}, done.stderr[-2000:]
        yield running


@pytest.mark.parametrize("query", ["q3", "q5"])  # q3 reads the topic twice, q5 has two operators with state
def test_the_stream_of_a_topic_and_the_batch_have_the_same_rows(broker, tmp_path, query):
    done = nexmark(
        *("stream", query, "--kafka", broker.bootstrap, "--folder", tmp_path, "--events", EVENTS),
        *("--cap-rows", CAP_ROWS, "--trigger-s", 0.5, "--metrics-port", 0),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    verified = nexmark("verify", query, "--folder", tmp_path, "--events", EVENTS, "--output", "json")
    assert verified.returncode == 0, verified.stdout + verified.stderr[-3000:]
    found = json.loads(verified.stdout)
    assert found["expected"] > 0
    assert (found["missing"], found["unexpected"]) == (0, 0)
