"""The agent as a process on loopback, by TCP, so that it needs no privileges."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families
from refusals import codes

from testbed.free_port import free_port

SETTLE_S = 120  # bound of a wait, not an expectation


def command(*options):
    return [sys.executable, "-m", "latency_map.measure.agent", *options]


def usual(port):
    return command(
        *("--node", "me", "--listen", f"127.0.0.1:{port}", "--peers", "edge1=127.0.0.1,none=a..b"),
        *("--method", "tcp", "--round", "0.2", "--rate", "50", "--timeout", "0.2"),
    )


@pytest.fixture
def port():
    return free_port()


@contextmanager
def running(arguments, **variables) -> Iterator[subprocess.Popen]:
    environment = {**os.environ, **variables}
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def get(port, path):
    with urlopen(f"http://127.0.0.1:{port}{path}", timeout=SETTLE_S) as answer:
        return answer.read().decode()


def await_page(port, path, *wanted):
    deadline_s = time.monotonic() + SETTLE_S
    while True:
        try:
            page = get(port, path)
            if all(words in page for words in wanted):
                return page
        except OSError:
            page = "no answer"
        assert time.monotonic() < deadline_s, page
        time.sleep(0.05)


def test_it_serves_figures_that_a_prometheus_parser_reads(port):
    with running(usual(port)):
        # Peers are measured in turn, and the figures of one leave the window soon.
        page = await_page(port, "/metrics", "gesscale_latency_rtt_seconds{", 'target="none"')
        samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
        labels = {tuple(sample.labels) for sample in samples if sample.name.endswith("_seconds")}
        assert labels == {("source", "target")}
        assert {sample.labels["source"] for sample in samples} == {"me"}
        lost = next(one for one in samples if one.name.endswith("ratio") and one.labels["target"] == "none")
        assert lost.value == 1
        await_page(port, "/healthz", "ok\n")
        assert json.loads(get(port, "/node"))["node"] == "me"
        with pytest.raises(HTTPError, match="404"):
            get(port, "/else")


def test_a_signal_ends_it_quietly(port):
    with running(usual(port)) as process:
        await_page(port, "/healthz", "ok")
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=SETTLE_S)
    assert process.returncode == 0
    assert "Traceback" not in stderr


def test_a_port_in_use_is_one_line_and_exit_code_1():
    with socket.create_server(("127.0.0.1", 0)) as server, running(usual(server.getsockname()[1])) as process:
        _, stderr = process.communicate(timeout=SETTLE_S)
    assert process.returncode == 1
    assert stderr.count("\n") == 1
    assert codes(stderr) == ["agent-listen-failed"]


def test_the_agent_loads_nothing_heavy():
    heavy = (
        "{'numpy', 'scipy', 'networkx', 'pandas', 'pyspark', 'matplotlib', 'pydantic', 'yaml', 'rich', 'typer'}"
        " & set(sys.modules)"
    )
    script = f"import sys, latency_map.measure.agent; sys.exit(str({heavy}) if {heavy} else 0)"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=SETTLE_S)
