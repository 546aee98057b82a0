"""The example of one's own job, as its page says: start it, then ask for a recommendation."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[3]
JOB, SETTINGS = ROOT / "examples" / "own_job" / "job.py", ROOT / "examples" / "own_job" / "gesscale.yaml"
WAIT_S = 180


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(port: int, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, str(JOB)],
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PORT": str(port)},
        )


def batches(port: int) -> list[dict[str, object]]:
    try:
        with urlopen(f"http://127.0.0.1:{port}/batches", timeout=2) as answer:
            return list(json.load(answer)["batches"])
    except OSError:
        return []


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Give the port of the job, which has ended some batches."""
    port, log = free_port(), tmp_path_factory.mktemp("job") / "log"
    job = start(port, log)
    try:
        until_s = time.monotonic() + WAIT_S
        while len(batches(port)) < 4 and time.monotonic() < until_s:
            assert job.poll() is None, log.read_text()
            time.sleep(1)
        yield port
    finally:
        job.terminate()
        try:
            job.wait(30)
        except subprocess.TimeoutExpired:
            job.kill()
            job.wait(10)


@pytest.mark.parametrize(
    "policy", ["gesscale2", str(ROOT / "examples" / "own_policy" / "reserve.py:Reserve")]
)
def test_a_recommendation_names_the_node_of_the_driver(running, policy):
    url = f"workflow.operators.hashes.metrics_url='http://127.0.0.1:{running}'"
    done = subprocess.run(
        [sys.executable, "-m", "gesscale", "recommend", "-c", SETTINGS, "--set", url, "--policy", policy, "-o", "json"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (decision,) = json.loads(done.stdout)["decisions"]
    # local[2] is one process on the driver's own node, and 1,000 hashes/s are little work.
    assert decision["plan"]["before"] == ["edge1"]
    assert decision["plan"]["placement"] == ["edge1"]
    assert decision["analysis"]["reading"]["throughput_rows_per_s"] > 0


def test_a_port_in_use_is_one_line(running, tmp_path):
    second = start(running, tmp_path / "log")
    assert second.wait(WAIT_S) == 1
    assert f"job: port {running} is in use" in (tmp_path / "log").read_text()


def test_a_machine_without_java_is_told_so(tmp_path):
    environment = {"PATH": str(tmp_path), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(
        [sys.executable, str(JOB)], capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    assert done.returncode == 1
    assert done.stderr.startswith("job: Spark needs Java 17 or newer")
