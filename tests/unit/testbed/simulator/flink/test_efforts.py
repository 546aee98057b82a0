"""Work of each replica per tick, and the rows that leave in a tick."""

from dataclasses import replace

import pytest
from flink_scenes import NODES, PLAIN, alone, plant

from testbed.simulator.flink.plant import FlinkPlant
from testbed.simulator.plant import Effort
from testbed.simulator.scene import NodeFailure, SimulatedNode

SLOW = {name: SimulatedNode(name=name, weight=0.5 if name == "n1" else 1.0) for name in NODES}


def newest(flink: FlinkPlant, ticks: int = 1) -> dict[str, Effort]:
    return dict(flink.efforts("op", list(flink.batches("op"))[-ticks:])())


def test_a_slow_node_works_twice_as_long_for_the_same_rows() -> None:
    # 60 rows/s in turn to two replicas, 10 and 20 ms a row: 300 rows each in 10 s. All wait for the slower one: the
    # operator can do 100 rows/s, so it is busy for 6 s; the fast node works for 3 s.
    flink = plant(alone([60.0] * 2, ("n0", "n1"), nodes=SLOW))
    flink.advance(60.0)
    assert newest(flink) == {"n0": pytest.approx((300, 3.0, 3.0)), "n1": pytest.approx((300, 6.0, 0.0))}


def test_work_and_waiting_of_all_replicas_add_up_to_the_counters() -> None:
    noisy = replace(PLAIN, noise=0.1, keys=50, straggle=0.1)
    flink = plant(alone([150.0] * 5, ("n1", "n2"), rtt_ms=100.0), noisy)
    flink.advance(120.0)
    did = newest(flink, 12)
    tally = flink.tally("op")
    assert sum(each.rows for each in did.values()) == pytest.approx(tally.processed_rows)
    assert sum(each.work_s for each in did.values()) == pytest.approx(tally.work_s)
    assert sum(each.waiting_s for each in did.values()) == pytest.approx(tally.waiting_s)


# Rows sent downstream


def test_reprocessed_rows_are_not_emitted_again() -> None:
    down = (NodeFailure(node="n1", from_s=25.0, until_s=400.0),)
    physics = replace(PLAIN, checkpoint_interval_s=1000.0, restart_s=10.0, failure_detection_s=5.0)
    flink = plant(alone([50.0] * 10, ("n0", "n1"), failures=down), physics)
    handed = rows = 0
    seen = -1
    for until_s in range(10, 610, 10):
        flink.advance(float(until_s))
        for batch in flink.batches("op"):
            if batch.batch_id > seen:
                seen, handed, rows = batch.batch_id, handed + (batch.output_rows or 0), rows + batch.rows
    assert rows > handed == int(flink.tally("op").processed_rows)
