"""A short run of chaos on emulated nodes: each fault once, every row counted, nothing left behind."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from testbed.chaos.judge import read_records
from testbed.chaos.plan import Fault
from testbed.chaos.playing import CHANGES, play_chaos
from testbed.chaos.setting import ChaosSetting
from testbed.cluster import privilege, state
from testbed.demo.stage import Stage

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not (privilege.is_privileged() and os.access(privilege.TUN, os.R_OK | os.W_OK)),
        reason="needs root and /dev/net/tun to make network namespaces",
    ),
]


def test_no_fault_loses_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(state.STATE_ROOT, str(tmp_path / "state"))
    (tmp_path / "map.csv").write_text(",home,near,far\nhome,0,8,60\nnear,8,0,55\nfar,60,55,0\n")
    (tmp_path / "nodes.yaml").write_text(
        "name: chaos\nlatency: {file: map.csv, unit: ms, kind: rtt}\n"
        "driver_node: home\nsubnet: 10.77.216.0/24\n"
    )
    setting = ChaosSetting(seed=1, topology=str(tmp_path / "nodes.yaml"), most_replicas=2, rows_per_s=50)
    said = io.StringIO()
    verdict = play_chaos(setting, len(Fault), tmp_path / "results", Stage(Console(file=said)))
    records = read_records(tmp_path / "results" / CHANGES)
    assert verdict.kept, said.getvalue()
    assert verdict.rows > 0
    assert {record.fault for record in records} == set(Fault)
    said.truncate(0)
    assert play_chaos(setting, len(Fault), tmp_path / "results", Stage(Console(file=said))) == verdict
    assert "bringing up" not in said.getvalue()  # what is done is not played again
