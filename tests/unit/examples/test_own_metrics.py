"""The example of metrics from elsewhere: gesscale reads it like a driver."""

import pytest
from example_jobs import EXAMPLES, await_batches, recommend, started

from testbed.free_port import free_port

PROGRAM, SETTINGS = EXAMPLES / "own_metrics" / "serve.py", EXAMPLES / "own_job" / "gesscale.yaml"


def test_its_figures_are_read_as_they_are_meant(tmp_path):
    port = free_port()
    with started(PROGRAM, tmp_path / "log", {"PORT": str(port)}) as server:
        await_batches(port, 4, server, tmp_path / "log")
        url = f"workflow.operators.hashes.metrics_url='http://127.0.0.1:{port}'"
        decision = recommend(SETTINGS, "--set", url, "--set", "monitor.hosts={}")
    reading = decision["analysis"]["reading"]
    # 400 rows in each 5 s are 80 rows/s, all of them at the cap; 500 in 5 s are offered.
    assert reading["throughput_rows_per_s"] == pytest.approx(80.0)
    assert reading["input_rows_per_s"] == pytest.approx(100.0)
    assert reading["saturated_share"] == 1.0
    assert decision["plan"]["before"] == ["edge1"]
