"""The arena's cases as tasks of a real Spark: in one JVM, and on a cluster of two workers."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyspark
import pytest
from refusals import error_in_json

pytestmark = pytest.mark.real

WORK = Path(pyspark.__file__).parent / "work"
"""Where a local-cluster keeps what its executors write."""

DIES = """
import os
from gesscale.policies import policy_named

def dies(workflow, rules):
    os._exit(3)
"""


def arena(*words):
    """Run ``gesscale arena run``; return its exit code, document, stderr, and process."""
    program = "from gesscale.cli.start import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "arena", "run", "--output", "json", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, stderr = process.communicate(timeout=600)
    finally:
        process.kill()
    return process.returncode, json.loads(out or "null"), stderr, process.pid


def alive_in_session(leader):
    alive = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue  # it has just ended
        if int(session) == leader and state != "Z":
            alive.append(stat.parent.name)
    return alive


def assert_nothing_is_left(leader):
    deadline = time.monotonic() + 120
    while alive_in_session(leader) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not alive_in_session(leader)


@pytest.fixture
def asked(tmp_path):
    (tmp_path / "mine.csv").write_text("t_s,rows_per_s\n0,100\n300,500\n600,200\n900,200\n")
    (tmp_path / "dies.py").write_text(DIES)
    return (
        *("--policies", f"thr-nlunaware,gesscale,{tmp_path}/dies.py:dies"),
        *("--workload", tmp_path / "mine.csv", "--seeds", 2),
    )


@pytest.fixture
def _tidy():
    before = set(WORK.glob("*"))
    yield
    for folder in set(WORK.glob("*")) - before:
        shutil.rmtree(folder)
    if not before and WORK.exists():
        WORK.rmdir()


@pytest.mark.usefixtures("_tidy")
@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_a_cluster_gives_what_one_process_gives(asked, tmp_path, master):
    code, document, stderr, leader = arena(*asked, "--spark", master, "--results", tmp_path / "r")
    assert code == 1, stderr  # one policy has lost all its runs
    _, expected, _, _ = arena(*asked, "--jobs", 2)
    deaths = [run for run in document["runs"] if run["policy"].endswith("dies")]
    assert {run["lost_code"] for run in deaths} == {"spark-task-failed"}
    assert all("Python worker exited unexpectedly" in run["lost"] for run in deaths)
    assert [run for run in document["runs"] if not run["lost"]] == [run for run in expected["runs"] if not run["lost"]]
    assert len(document["runs"]) == len(expected["runs"]) == 6
    assert "WARN" not in stderr
    assert_nothing_is_left(leader)


@pytest.mark.parametrize(
    ("master", "error_code"),
    [("spark://127.0.0.1:1", "spark-master-unreachable"), ("sparc://127.0.0.1", "spark-start-failed")],
)
def test_a_wrong_master_is_one_error(asked, master, error_code):
    code, document, stderr, leader = arena(*asked, "--spark", master)
    assert code == 2
    assert document is None
    assert error_in_json(stderr)["code"] == error_code
    assert stderr.count("\n") == 1
    assert_nothing_is_left(leader)
