"""A short run of chaos on emulated nodes: each fault once, every row counted, nothing left behind."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from testbed.chaos.plan import LOCAL_FAULTS, Fault
from testbed.chaos.playing import play_chaos
from testbed.chaos.results import Results
from testbed.chaos.setting import ChaosSetting
from testbed.live.nodes import Stage

pytestmark = pytest.mark.real


@pytest.fixture
def nodes(three_nodes: Callable[[str, int], str]) -> str:
    return three_nodes("chaos", 216)


KILLS = (Fault.EXECUTOR_KILLED, Fault.DRIVER_KILLED, Fault.CONTROLLER_KILLED, Fault.NODE_CUT_OFF)


@pytest.mark.parametrize("faults", [KILLS, pytest.param(LOCAL_FAULTS, marks=pytest.mark.long)], ids=["kills", "all"])
def test_no_fault_loses_a_row(nodes: str, tmp_path: Path, faults: tuple[Fault, ...]) -> None:
    setting = ChaosSetting(seed=1, topology=nodes, most_replicas=2, rows_per_s=50, faults=faults)
    said = io.StringIO()
    verdict = play_chaos(setting, len(faults), tmp_path / "results", Stage(Console(file=said)))
    assert verdict.kept, said.getvalue()
    assert verdict.rows > 0
    assert {record.fault for record in Results(folder=tmp_path / "results").records()} == set(faults)
    said.truncate(0)
    again = play_chaos(setting, len(faults), tmp_path / "results", Stage(Console(file=said)))
    assert again == verdict
    assert "bringing up" not in said.getvalue()  # what is done is not played again


def test_no_window_is_lost_when_the_broker_of_a_query_with_state_is_killed(nodes: str, tmp_path: Path) -> None:
    faults = (Fault.BROKER_KILLED, Fault.EXECUTOR_KILLED)
    setting = ChaosSetting(
        seed=1, topology=nodes, most_replicas=2, rows_per_s=50, query="q5", kafka=True, faults=faults
    )
    said = io.StringIO()
    verdict = play_chaos(setting, 2, tmp_path / "results", Stage(Console(file=said)))
    assert verdict.kept, said.getvalue()
    assert verdict.rows > 0
