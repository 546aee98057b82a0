"""Two Spark applications joined by a real broker on emulated nodes: both ends count, one scale-up in between."""

import io
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from gesscale.model.decision import Reason
from testbed.cluster import lifecycle, privilege, state
from testbed.cluster.topology import Topology, read_topology
from testbed.demo.playing import play_day
from testbed.demo.taxi import PreparedRides
from testbed.live.nodes import Stage
from testbed.live.report import check_rows
from testbed.live.scenario import CLEAN, NEAREST, WORKFLOW, Scenario, TopicInput, prepare_settings

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not (privilege.is_privileged() and os.access(privilege.TUN, os.R_OK | os.W_OK)),
        reason="needs root and /dev/net/tun to make network namespaces",
    ),
]

# One replica of `nearest` works 12 ms on a row, at most 83 rows/s. 135 valid rows/s for 30 s overload it: 1,560 rows
# wait at last, which take 19 s; and a backlog of more than 2 s is to be no reason to wait. So ten decisions and more
# see the overload, however slow the host is to begin. `clean` works 1 ms on a row, and a batch a second of at most 200
# rows lets it catch up by 50 rows/s with what waited for its first batch.
ROWS_PER_S, LOAD_S = 150, 30
ROWS = ROWS_PER_S * LOAD_S
DAY_S = 60.0


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    (tmp_path / "map.csv").write_text(",home,near,far\nhome,0,8,60\nnear,8,0,55\nfar,60,55,0\n")
    (tmp_path / "topology.yaml").write_text(
        "name: twoops\nlatency: {file: map.csv, unit: ms, kind: rtt}\n"
        "driver_node: home\nsubnet: 10.77.214.0/24\n"
    )
    return replace(
        WORKFLOW,
        policy="gesscale",  # it grows where rows wait; the default would let them wait in so short a day
        topology=str(tmp_path / "topology.yaml"),
        operators=(replace(CLEAN, service_ms_per_row=1.0), replace(NEAREST, service_ms_per_row=12.0)),
        day_s=DAY_S,
        kafka=TopicInput(broken_share=0.1, partitions=4),
        cap_rows=200,
        trigger_s=1.0,
        period_s=3.0,
        max_replicas=2,
    )


@pytest.fixture
def topology(scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Topology]:
    monkeypatch.setenv(state.STATE_ROOT, str(tmp_path / "state"))
    made = read_topology(scenario.topology)
    lifecycle.up(made, source=scenario.topology)
    yield made
    lifecycle.down("twoops")


@pytest.fixture
def rides(scenario: Scenario, tmp_path: Path) -> PreparedRides:
    begins = datetime(2015, 1, 6, 4)
    gap = timedelta(seconds=scenario.speed / ROWS_PER_S)
    table = pa.table(
        {
            "ride": pa.array(range(ROWS), pa.int64()),
            "pickup_time": pa.array([begins + gap * number for number in range(ROWS)], pa.timestamp("us")),
            "pickup_longitude": pa.array([-73.98] * ROWS),
            "pickup_latitude": pa.array([40.75] * ROWS),
        }
    )
    (tmp_path / "rides").mkdir()
    pq.write_table(table, tmp_path / "rides" / "part-0.parquet")
    return PreparedRides(folder=tmp_path / "rides", rows=ROWS, begins_at_hour=4.0, cleaning={})


def test_each_row_once_through_both_while_one_is_scaled(
    scenario: Scenario, topology: Topology, rides: PreparedRides, tmp_path: Path
) -> None:
    folder = tmp_path / "report"
    folder.mkdir()
    given = tmp_path / "given.yaml"
    given.write_text(scenario.settings(topology).replace("recovery_target: 9s", "recovery_target: 2s"))
    settings = prepare_settings(scenario, topology, folder, given)
    assert settings.analyze.recovery_target_s == 2.0
    day = play_day(scenario, settings, topology, rides, folder, Stage(Console(file=io.StringIO())))

    assert day.broken == ROWS // 10
    valid = ROWS - day.broken
    assert {check.detail for check in check_rows(day) if not check.kept} == set()
    assert (day.sink.rows, day.sink.distinct) == (valid, valid)
    # what one operator wrote is what the next one read
    assert {name: record.processed_rows for name, record in day.records.items()} == {
        "clean": ROWS,
        "nearest": valid,
    }
    grown = next(decision for decision in day.records["nearest"].acted if decision.outcome.added)
    assert grown.plan.reason is Reason.OVERLOADED
    assert grown.outcome.added == ("near",)
    # nothing but what the cluster itself runs is left
    assert {process.mark.role.value for process in lifecycle.status("twoops").running} <= {"relay"}
    assert not (folder / "broker").exists()
    assert not list(Path.cwd().glob("*.jar"))
