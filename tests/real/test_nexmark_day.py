"""A short day of Nexmark through a real broker on emulated nodes: one scale-up, and every row once."""

import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from testbed.cluster import lifecycle, privilege, state
from testbed.nexmark.day import NexmarkDay, play
from testbed.nexmark.queries import query_named

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not (privilege.is_privileged() and os.access(privilege.TUN, os.R_OK | os.W_OK)),
        reason="needs root and /dev/net/tun to make network namespaces",
    ),
]

POLICY = """
from testbed.chaos.controller import OrderedPlacement

def both(workflow, settings):
    return OrderedPlacement(lambda: {"q1": ("home", "near")}, "home")
"""


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(state.STATE_ROOT, str(tmp_path / "state"))
    (tmp_path / "map.csv").write_text(",home,near,far\nhome,0,8,60\nnear,8,0,55\nfar,60,55,0\n")
    (tmp_path / "nodes.yaml").write_text(
        "name: kafkaday\nlatency: {file: map.csv, unit: ms, kind: rtt}\n"
        "driver_node: home\nsubnet: 10.77.221.0/24\n"
    )
    return str(tmp_path / "nodes.yaml")


def test_each_event_once_while_a_replica_is_added(nodes: str, tmp_path: Path) -> None:
    (tmp_path / "both.py").write_text(POLICY)
    folder = tmp_path / "report"
    folder.mkdir()
    day = NexmarkDay(
        query=query_named("q1"),
        policy=f"{tmp_path}/both.py:both",
        topology=nodes,
        day_s=60.0,
        most_rows_per_s=60.0,  # one replica does 125
        kafka=True,
    )
    said = io.StringIO()
    assert play(day, folder, Console(file=said)), said.getvalue()

    decisions, batches = (
        [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        for name in ("decisions", "batches")
    )
    assert [each["outcome"]["added"] for each in decisions if each["acted"]] == [["near"]]
    assert {tuple(batch["nodes"]) for batch in batches} >= {("home",), ("home", "near")}
    # the driver counts what is offered by the offsets of the topic's partitions
    events = int(day.load.total_rows)
    assert sum(batch["rows"] for batch in batches) == events
    assert max(batch["offered_rows_total"] for batch in batches) == events
    assert f'"events": {events}' in (folder / "producer.log").read_text()
    assert lifecycle.down("kafkaday") == lifecycle.Swept(processes=0, network_parts=0)
    assert not (folder / "broker").exists()
