"""Ending the processes of a container."""

import signal
import subprocess
from pathlib import Path

import pytest
from refusals import refused

from testbed.cluster.namespaces import namespace
from testbed.kubernetes import control_groups


@pytest.fixture
def container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that names the processes of container ``c0ffee``, as a kernel with version 2 shows it."""
    (tmp_path / "cgroup.controllers").touch()
    monkeypatch.setattr(control_groups, "ROOT", tmp_path)
    group = tmp_path / namespace("three", "a") / "kubepods" / "burstable" / "pod1" / "c0ffee"
    group.mkdir(parents=True)
    return group / "cgroup.procs"


def test_the_processes_of_a_container_are_killed_and_no_others(container: Path) -> None:
    ours, other = (subprocess.Popen(("sleep", "60")) for _ in range(2))
    gone = subprocess.Popen(("true",))
    gone.wait()
    try:
        container.write_text(f"{ours.pid}\n{gone.pid}\n")
        assert control_groups.kill_container("three", "c0ffee") == 2
        assert ours.wait(10) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        other.kill()
        other.wait(10)


def test_a_container_of_another_cluster_is_not_found(container: Path) -> None:
    container.touch()
    with refused("container-not-found", cluster="four", container="c0ffee"):
        control_groups.kill_container("four", "c0ffee")
