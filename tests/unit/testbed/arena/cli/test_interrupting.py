"""Interrupts by Ctrl-C, and errors."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from processes import COMMAND
from refusals import codes

SETTLE_S = 150  # timeout of a wait


def test_wrong_input_is_one_line_and_exit_code_2(gesscale):
    code, out, message = gesscale("arena", "compare", "/nowhere")
    assert (code, out) == (2, "")
    assert codes(message) == ["results-missing"]
    assert message.count("\n") == 1


@contextlib.contextmanager
def in_own_session(*words):
    """Run a command, and end all its processes even if the test fails."""
    with subprocess.Popen(
        (*COMMAND, *map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_an_interrupted_run_keeps_its_results(tmp_path, load):
    folder = tmp_path / "results"
    words = ("arena", "run", "--policies", "static,gesscale", "--workload", load, "--seeds", 2000)
    with in_own_session(*words, "--jobs", 2, "--results", folder) as process:
        lines = folder / "results.jsonl"
        deadline = time.monotonic() + SETTLE_S
        while time.monotonic() < deadline and not (lines.exists() and lines.read_bytes().count(b"\n") >= 3):
            time.sleep(0.2)
        os.killpg(process.pid, signal.SIGINT)  # like a terminal, also to the workers
        _, message = process.communicate(timeout=SETTLE_S)
        assert process.returncode == 130
        done = lines.read_bytes().count(b"\n")
        assert done >= 3
        assert codes(message) == ["runs-interrupted"]
        assert {f"{done}", "4000"} <= set(message.split())
        assert "Traceback" not in message
        deadline = time.monotonic() + SETTLE_S
        while _alive_in_session(process.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not _alive_in_session(process.pid)


def _alive_in_session(leader):
    alive = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue  # the process has just exited
        if int(session) == leader and state != "Z":
            alive.append(stat.parent.name)
    return alive
