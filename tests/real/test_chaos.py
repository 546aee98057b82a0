"""A short run of chaos on emulated nodes: each fault once, every row counted, nothing left behind."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from testbed.chaos.plan import LOCAL_FAULTS, Fault
from testbed.chaos.playing import play_chaos
from testbed.chaos.results import Results
from testbed.chaos.setting import ChaosSetting
from testbed.cluster import privilege, state
from testbed.live.nodes import Stage

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not (privilege.is_privileged() and os.access(privilege.TUN, os.R_OK | os.W_OK)),
        reason="needs root and /dev/net/tun to make network namespaces",
    ),
]


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(state.STATE_ROOT, str(tmp_path / "state"))
    (tmp_path / "map.csv").write_text(",home,near,far\nhome,0,8,60\nnear,8,0,55\nfar,60,55,0\n")
    (tmp_path / "nodes.yaml").write_text(
        "name: chaos\nlatency: {file: map.csv, unit: ms, kind: rtt}\n"
        "driver_node: home\nsubnet: 10.77.216.0/24\n"
    )
    return str(tmp_path / "nodes.yaml")


def test_no_fault_loses_a_row(nodes: str, tmp_path: Path) -> None:
    setting = ChaosSetting(seed=1, topology=nodes, most_replicas=2, rows_per_s=50)
    said = io.StringIO()
    verdict = play_chaos(setting, len(LOCAL_FAULTS), tmp_path / "results", Stage(Console(file=said)))
    assert verdict.kept, said.getvalue()
    assert verdict.rows > 0
    assert {record.fault for record in Results(folder=tmp_path / "results").records()} == set(LOCAL_FAULTS)
    said.truncate(0)
    again = play_chaos(setting, len(LOCAL_FAULTS), tmp_path / "results", Stage(Console(file=said)))
    assert again == verdict
    assert "bringing up" not in said.getvalue()  # what is done is not played again


def test_no_window_is_lost_when_the_broker_of_a_query_with_state_is_killed(
    nodes: str, tmp_path: Path
) -> None:
    faults = (Fault.BROKER_KILLED, Fault.EXECUTOR_KILLED)
    setting = ChaosSetting(
        seed=1, topology=nodes, most_replicas=2, rows_per_s=50, query="q5", kafka=True, faults=faults
    )
    said = io.StringIO()
    verdict = play_chaos(setting, 4, tmp_path / "results", Stage(Console(file=said)))
    assert verdict.kept, said.getvalue()
    assert verdict.rows > 0
