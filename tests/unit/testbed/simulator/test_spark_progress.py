from functools import partial

import pytest
from spark_scenes import QUIET, equal_delays, one_operator, physics_of, steady

from testbed.simulator.spark.plant import SparkPlant
from tests.spark_progress import ProgressReports, SimulatedSource, recreated, successive, topic, transactional


def test_the_reports_of_a_plain_topic_are_those_of_the_plant() -> None:
    scene = one_operator(steady(700, 300), delays=equal_delays(4, 0.0))
    plant = SparkPlant(scene, physics_of(scene, QUIET), seed=1)
    reports = ProgressReports(plant, {"op": SimulatedSource()}, trigger_s=QUIET.trigger_s)
    plant.advance(100)
    first = list(reports.batches("op"))
    plant.advance(299)
    served, true = reports.batches("op"), plant.batches("op")
    assert served[: len(first)] == first
    assert len(served) == len(true) > len(first) > 3
    for ours, theirs in zip(served, true, strict=True):
        for name in ("batch_id", "rows", "nodes", "trigger_s", "backlog_rows", "offered_rows_total", "tasks"):
            assert getattr(ours, name) == getattr(theirs, name), name
        assert ours.ended_at_s == pytest.approx(theirs.ended_at_s, abs=0.002)  # reports have milliseconds
    assert true[-1].backlog_rows  # 700 rows/s, of which one replica does 488


def test_offsets_of_sources() -> None:
    assert transactional(9, rows_per_transaction=3) == topic(12)  # three transactions, three markers
    made_again = partial(recreated, after_rows=10, first=100)
    assert (made_again(10), made_again(13)) == (topic(10, first=100), topic(3))
    assert set(successive(10, after_rows=10)) == {"rides", "yesterday"}
    assert successive(11, after_rows=10) == topic(11)
