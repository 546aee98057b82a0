import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from refusals import refused

from testbed.cluster import processes
from testbed.cluster.processes import Mark, Process, Role

SETTLE_S = 120  # bound of a wait, not an expectation
SLEEP = (sys.executable, "-c", "import time; time.sleep(60)")
DEAF = (
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);print('deaf', flush=True); time.sleep(60)",
)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path)
    processes.stop_all(str(tmp_path), grace_s=0.1)


def start(cluster: str, command: tuple[str, ...] = SLEEP, **mark: object) -> Process:
    return processes.start(
        command,
        Mark(cluster=cluster, role=Role.EXECUTOR, **mark),  # type: ignore[arg-type]
        environment=processes.base_environment(),
        log=Path(cluster) / "logs" / "process.log",
    )


def await_output(cluster: str, text: str) -> None:
    log, deadline = Path(cluster) / "logs" / "process.log", time.monotonic() + SETTLE_S
    while text not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.01)


def test_a_started_process_is_found_with_its_mark(cluster: str) -> None:
    body = (sys.executable, "-c", f"import subprocess; subprocess.run({SLEEP!r})")
    started = start(cluster, body, node="edge1", operator="nearest", serial=7)
    deadline = time.monotonic() + SETTLE_S
    while len(found := processes.find(cluster)) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert [process for process in found if process.started] == [started]
    assert started.mark == Mark(cluster=cluster, role=Role.EXECUTOR, node="edge1", operator="nearest", serial=7)


def test_a_process_is_found_during_exec(cluster: str) -> None:
    # One in five looks missed it while its environment was read but once.
    again = 'test "$1" = 0 || exec sh -c "$0" "$0" $(($1 - 1))'
    started = start(cluster, ("sh", "-c", again, again, "400"))
    while started.pid in {child.pid for child in processes._children}:
        found = processes.find(cluster)
        assert found == (started,) or not Path(f"/proc/{started.pid}/exe").exists()


@pytest.mark.parametrize("other", ["/other", "2"])  # one is below, the other one only begins alike
def test_nothing_of_another_cluster_is_found_or_ended(cluster: str, other: str) -> None:
    other = cluster + other
    foreign = start(other)
    start(cluster)
    assert processes.stop_all(cluster) == 1
    assert processes.find(other) == (foreign,)
    processes.stop_all(other)


def test_a_process_that_ignores_sigterm_is_killed(cluster: str) -> None:
    assert processes.stop([start(cluster)], grace_s=SETTLE_S) == ()
    deaf = start(cluster, DEAF)
    await_output(cluster, "deaf")
    assert processes.stop([deaf], grace_s=0.1) == (deaf,)
    assert processes.find(cluster) == ()


def test_a_reused_pid_is_left_alone(cluster: str) -> None:
    with subprocess.Popen(SLEEP) as innocent:
        mistaken = Process(pid=innocent.pid, mark=Mark(cluster=cluster, role=Role.RELAY), started=True)
        processes.stop([mistaken], grace_s=0.1)
        assert innocent.poll() is None
        innocent.kill()


def test_the_caller_and_its_ancestors_are_never_found(cluster: str) -> None:
    mark = Mark(cluster=cluster, role=Role.DRIVER)
    body = f"from testbed.cluster import processes; print(processes.find({cluster!r}))"
    done = subprocess.run(
        (sys.executable, "-c", body),
        env={**os.environ, **mark.environment()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "()"


def test_a_program_that_does_not_exist_is_reported(cluster: str) -> None:
    with refused("process-not-started", role="executor", node="edge1", program="/no/such"):
        start(cluster, ("/no/such",), node="edge1")
