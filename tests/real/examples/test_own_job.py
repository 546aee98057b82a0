"""The example of your own job, as on its page: start it, then get a recommendation."""

import os
import subprocess
import sys

import pytest
from example_jobs import EXAMPLES, WAIT_S, await_batches, recommend, started

from testbed.free_port import free_port

pytestmark = pytest.mark.real

JOB, SETTINGS = EXAMPLES / "own_job" / "job.py", EXAMPLES / "own_job" / "gesscale.yaml"


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Give the port of the job, which has ended some batches."""
    port, log = free_port(), tmp_path_factory.mktemp("job") / "log"
    with started(JOB, log, {"PORT": str(port)}) as job:
        await_batches(port, 4, job, log)
        yield port


@pytest.mark.parametrize("policy", ["gesscale", str(EXAMPLES / "own_policy" / "reserve.py:Reserve")])
def test_a_recommendation_names_the_node_of_the_driver(running, policy):
    url = f"workflow.operators.hashes.metrics_url='http://127.0.0.1:{running}'"
    decision = recommend(SETTINGS, "--set", url, "--policy", policy)
    # local[2] is one process on the driver's own node; on a busy machine another node may be recommended, too
    assert decision["plan"]["before"] == ["edge1"]
    assert "edge1" in decision["plan"]["placement"]
    assert decision["analysis"]["reading"]["throughput_rows_per_s"] > 0


@pytest.mark.parametrize("program", [JOB, EXAMPLES / "kafka_window" / "job.py", EXAMPLES / "kafka_window" / "feed.py"])
def test_without_java_there_is_a_message(tmp_path, program):
    environment = {"PATH": str(tmp_path), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=WAIT_S, check=False, env=environment
    )
    assert done.returncode == 1
    assert "Java 17" in done.stderr
    assert len(done.stderr.splitlines()) == 1
