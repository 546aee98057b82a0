"""The pipeline through a real Kafka broker: producer, topic, operator, topic."""

import json
import os
import subprocess
import sys
import time
from urllib.request import urlopen

import pytest

from testbed.free_port import free_port
from testbed.pipeline.kafka_broker import running_broker
from testbed.pipeline.kafka_topic import verify_topic
from testbed.pipeline.replay import write_steady_rides

pytestmark = pytest.mark.real

RIDES, COPIES, CAP_ROWS, PARTITIONS = 1500, 2, 300, 4


def served(port):
    try:
        with urlopen(f"http://127.0.0.1:{port}/batches", timeout=30) as answer:
            return json.load(answer)
    except OSError:
        return None


def test_each_row_goes_from_topic_to_topic(tmp_path):
    rides, rows = write_steady_rides(tmp_path / "rides", RIDES, apart_s=1.0), RIDES * COPIES
    with running_broker(tmp_path / "broker", partitions=PARTITIONS) as broker:
        produce = [
            sys.executable, "-m", "testbed.pipeline", "produce", "--rides", str(rides),
            "--kafka", broker.bootstrap, "--speed", "1000", "--copies", str(COPIES),
        ]  # fmt: skip
        done = subprocess.run(produce, capture_output=True, text=True, timeout=240, check=False)
        assert json.loads(done.stdout) == {"rows": rows}, done.stderr[-2000:]
        document = stream(broker.bootstrap, tmp_path, rows)
        count = verify_topic(broker.bootstrap, "nearest", rows)
        pid = broker.pid
    # the Kafka sink is at-least-once; nothing was interrupted here, so nothing was written again
    assert count.exactly_once
    # every row was in the topic before the query began: lag is what the batches left over
    first = document["batches"][0]
    assert first["offered_rows_total"] == rows
    assert first["backlog_rows"] == rows - first["rows"]
    # Kafka shares a cap out to the partitions and rounds each share down
    assert CAP_ROWS - PARTITIONS < first["rows"] <= CAP_ROWS
    assert first["cap_rows"] == CAP_ROWS
    # Kafka's sink counts what it gets, and its source what each executor read
    assert first["output_rows"] == first["rows"]
    # On a busy machine Spark's account of a batch comes too late now and then.
    accounted = [batch for batch in document["batches"] if batch["by_host"] is not None]
    assert 2 * len(accounted) > len(document["batches"])
    for batch in accounted:
        assert [work["rows"] for work in batch["by_host"].values()] == [batch["rows"]]
    assert not (tmp_path / "broker").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def stream(bootstrap, folder, rows):
    port = free_port()
    command = [
        sys.executable, "-m", "testbed.pipeline", "stream", "--kafka", bootstrap,
        "--checkpoint", str(folder / "checkpoint"), "--cap-rows", str(CAP_ROWS), "--trigger-s", "1",
        "--metrics-port", str(port), "--expected-rows", str(rows),
    ]  # fmt: skip
    document, deadline_s = None, time.monotonic() + 300
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            while process.poll() is None and time.monotonic() < deadline_s:
                answer = served(port)
                document = answer if answer and answer["batches"] else document
                time.sleep(0.3)
            assert process.wait(120) == 0, (folder / "log").read_text()[-3000:]
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(120)
    assert document is not None
    return document
