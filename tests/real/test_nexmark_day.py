"""A short day of Nexmark through a real broker on emulated nodes: one scale-up, and every row once."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from testbed.cluster import lifecycle
from testbed.nexmark.day import NexmarkDay, run_day
from testbed.nexmark.queries import nexmark_query

pytestmark = pytest.mark.real

POLICY = """
from testbed.chaos.controller import OrderedPlacement

def both(workflow, settings):
    return OrderedPlacement(lambda: {"q1": ("home", "near")}, "home")
"""


def test_each_event_once_while_a_replica_is_added(three_nodes: Callable[[str, int], str], tmp_path: Path) -> None:
    (tmp_path / "both.py").write_text(POLICY)
    folder = tmp_path / "report"
    folder.mkdir()
    day = NexmarkDay(
        query=nexmark_query("q1"),
        policy=f"{tmp_path}/both.py:both",
        topology=three_nodes("kafkaday", 217),
        day_s=60.0,
        max_rows_per_s=60.0,  # one replica does 125
        kafka=True,
    )
    printed = io.StringIO()
    assert run_day(day, folder, Console(file=printed)), printed.getvalue()

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
    assert lifecycle.down("kafkaday") == lifecycle.Removed(processes=0, network_parts=0)
    assert not (folder / "broker").exists()
