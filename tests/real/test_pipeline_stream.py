"""The taxi pipeline on Spark: generate, clean, stream, verify, while the listener's endpoint is read."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

import pytest
from refusals import logged_codes

from testbed.free_port import free_port
from testbed.pipeline.sink import verify_sink

pytestmark = pytest.mark.real

PIPELINE = [sys.executable, "-m", "testbed.pipeline"]


def run(*arguments, timeout=300):
    done = subprocess.run(
        [*PIPELINE, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def rides(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rides")
    made = json.loads(run("generate", folder / "raw.csv", "--rides-per-passenger", "0.004", "--output", "json"))
    cleaned = json.loads(run("clean", folder / "raw.csv", folder / "clean", "--output", "json"))
    assert cleaned["rides"] == made["valid"]
    assert set(cleaned["dropped"].values()) == {made["of_each_fault"]}
    assert min(cleaned["dropped"].values()) > 0
    return folder / "clean", cleaned["rides"]


@contextlib.contextmanager
def streaming(rides, folder: Path, port: int, *options):
    command = [
        *PIPELINE, "stream", "--rides", str(rides), "--to", str(folder / "out"),
        "--checkpoint", str(folder / "checkpoint"), "--trigger-s", "1", "--metrics-port", str(port),
        *map(str, options),
    ]  # fmt: skip
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(120)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait(10)


def page(port, name):
    try:
        with urlopen(f"http://127.0.0.1:{port}/{name}", timeout=30) as response:
            return response.read()
    except (OSError, HTTPException):  # its process may end in the middle of an response
        return None


def last_responses(process, port, timeout_s=300):
    """Read the endpoint until the process ends; return the last responses with a batch."""
    batches, metrics, deadline_s = None, None, time.monotonic() + timeout_s
    while process.poll() is None and time.monotonic() < deadline_s:
        document = json.loads(page(port, "batches") or "{}")
        if document.get("batches"):
            batches, scraped = document, page(port, "metrics") or b""
            metrics = scraped if b"_batch_rows{" in scraped else metrics  # none of a query that has ended
        time.sleep(0.2)
    assert process.wait(120) == 0
    return batches, metrics.decode()


def test_each_row_reaches_the_sink_once_and_is_reported(rides, tmp_path):
    folder, count = rides
    port, rows = free_port(), 2 * count
    options = ("--speed", 86400, "--copies", 2, "--cap-rows-per-replica", 900)
    with streaming(folder, tmp_path, port, *options) as process:
        document, metrics = last_responses(process, port)
    assert verify_sink(tmp_path / "out", rows).exactly_once
    assert document["listener_errors"] == 0
    numbers = [batch["batch_id"] for batch in document["batches"]]
    assert numbers == list(range(len(numbers)))
    for batch in document["batches"]:
        assert 0 < batch["rows"] <= batch["cap_rows"] == 900 * batch["replicas"]
        assert batch["offered_rows_total"] - batch["processed_rows_total"] == batch["backlog_rows"]
        assert batch["output_rows"] == batch["rows"]  # counted by the query, because a file sink does not report it
        assert batch["trigger_s"] == 1.0
        assert batch["hosts"] == batch["hosts_at_start"]
        assert len(batch["hosts"]) == 1  # local mode: the driver is the one executor
    # On a busy machine Spark's job records of a batch are sometimes late.
    accounted = [batch for batch in document["batches"] if batch["by_host"] is not None]
    assert 2 * len(accounted) > len(document["batches"])
    for batch in accounted:
        assert sum(work["rows"] for work in batch["by_host"].values()) == batch["rows"]
    assert max(batch["offered_rows_total"] for batch in document["batches"]) == rows
    assert 'gesscale_operator_batch_rows{app="nearest",operator="nearest",query="nearest"}' in metrics
    assert "gesscale_operator_replica_info" in metrics


def test_a_stopped_query_resumes_without_metrics(rides, tmp_path):
    folder, count = rides
    port = free_port()
    fast = ("--speed", 86400)
    in_26_batches = (*fast, "--cap-rows", 100)  # a second each
    with streaming(folder, tmp_path, port, *in_26_batches) as process:
        deadline_s = time.monotonic() + 240
        while time.monotonic() < deadline_s and b'"batch_id"' not in (page(port, "batches") or b""):
            time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    first = verify_sink(tmp_path / "out", count)
    assert first.rows > 0
    assert first.missing > 0
    assert first.duplicated == 0
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        streaming(folder, tmp_path, taken.getsockname()[1], *fast, "--cap-rows", 500) as process,
    ):
        assert process.wait(300) == 0
    assert "metrics-port-unavailable" in logged_codes((tmp_path / "log").read_text())
    assert verify_sink(tmp_path / "out", count).exactly_once
