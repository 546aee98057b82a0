"""A short run of chaos on emulated nodes: each fault once, every row counted, nothing left behind."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from testbed.chaos.plan import LOCAL_FAULTS, ChaosFault
from testbed.chaos.results import Results
from testbed.chaos.runner import run_chaos
from testbed.chaos.settings import ChaosSettings
from testbed.live.nodes import ProgressLog

pytestmark = pytest.mark.real


@pytest.fixture
def nodes(three_nodes: Callable[[str, int], str]) -> str:
    return three_nodes("chaos", 216)


KILLS = (ChaosFault.EXECUTOR_KILLED, ChaosFault.DRIVER_KILLED, ChaosFault.CONTROLLER_KILLED, ChaosFault.NODE_CUT_OFF)


@pytest.mark.parametrize("faults", [KILLS, pytest.param(LOCAL_FAULTS, marks=pytest.mark.long)], ids=["kills", "all"])
def test_no_fault_loses_a_row(nodes: str, tmp_path: Path, faults: tuple[ChaosFault, ...]) -> None:
    settings = ChaosSettings(seed=1, topology=nodes, max_replicas=2, rows_per_s=50, faults=faults)
    printed = io.StringIO()
    verdict = run_chaos(settings, len(faults), tmp_path / "results", ProgressLog(Console(file=printed)))
    assert verdict.kept, printed.getvalue()
    assert verdict.rows > 0
    assert {record.fault for record in Results(folder=tmp_path / "results").records()} == set(faults)
    printed.truncate(0)
    again = run_chaos(settings, len(faults), tmp_path / "results", ProgressLog(Console(file=printed)))
    assert again == verdict
    assert printed.getvalue() == ""  # completed changes are not run again


def test_no_window_is_lost_when_the_broker_of_a_query_with_state_is_killed(nodes: str, tmp_path: Path) -> None:
    faults = (ChaosFault.BROKER_KILLED, ChaosFault.EXECUTOR_KILLED)
    settings = ChaosSettings(
        seed=1, topology=nodes, max_replicas=2, rows_per_s=50, query="q5", kafka=True, faults=faults
    )
    printed = io.StringIO()
    verdict = run_chaos(settings, 2, tmp_path / "results", ProgressLog(Console(file=printed)))
    assert verdict.kept, printed.getvalue()
    assert verdict.rows > 0
