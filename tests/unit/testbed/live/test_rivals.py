"""A recorded day with other policies: its load, and the costs of the recorded and the simulated runs."""

import pytest
from edge import reading

from gesscale.model.decision import Analysis, Decision, Outcome, OutcomeStatus, Plan, Reason, Verdict
from gesscale.model.observation import Batch
from testbed.live.record import Record
from testbed.live.rivals import RIVALS, SEEDS, compare_with_rivals, rivals_table, write_load
from testbed.live.scoring import LiveRun
from testbed.nexmark.day import PHYSICS, NexmarkDay, NexmarkJob
from testbed.nexmark.queries import nexmark_query
from testbed.workloads.user_csv import workload_from_csv

BEGAN_S, DAY_S, ROWS_PER_S = 1000.0, 120.0, 20


def steady_record():
    """20 rows/s for 120 s in a batch each 2 s, which begins when its last row is due and takes 1 s, on one replica."""
    record = Record(began_at_s=BEGAN_S)
    record.add_batches(
        tuple(
            Batch(
                batch_id=number,
                ended_at_s=BEGAN_S + 2 * number + 3,
                rows=2 * ROWS_PER_S,
                seconds=1.0,
                nodes=("edge1",),
                offered_rows_total=2.0 * ROWS_PER_S * (number + 1),
            )
            for number in range(60)
        )
    )
    decision = Decision(
        at_s=BEGAN_S + 30,  # the loop of a busy machine starts late
        operator="q5",
        policy="gesscale",
        analysis=Analysis(
            operator="q5", verdict=Verdict.SAME, reason=Reason.WITHIN_TARGET, reading=reading(("edge1",), batches=())
        ),
        plan=Plan(operator="q5", reason=Reason.WITHIN_TARGET, before=("edge1",), placement=("edge1",)),
        outcome=Outcome(status=OutcomeStatus.NOTHING_TO_DO),
    )
    record.add((decision,))
    return record


def test_the_load_is_what_the_batches_offered(tmp_path):
    write_load(steady_record(), DAY_S, 2.0, tmp_path / "load.csv")
    load = workload_from_csv(tmp_path / "load.csv", name="load")
    assert (load.duration_s, load.total_rows) == pytest.approx((DAY_S, DAY_S * ROWS_PER_S))
    assert load.peak_rows_per_s == pytest.approx(ROWS_PER_S)


def test_the_same_load_is_simulated_with_the_policy_and_its_rivals(tmp_path):
    day = NexmarkDay(query=nexmark_query("q5"), policy="gesscale", day_s=DAY_S)
    load = day.load.scaled(DAY_S * ROWS_PER_S / day.load.total_rows)
    job = NexmarkJob(query=day.query, scenario=day.scenario, load=load, start_at_s=BEGAN_S)
    run = LiveRun(record=steady_record(), schedule=job, rows_doubled=0, rows_lost=0)
    costs = compare_with_rivals(run, day.scenario, PHYSICS["q5"], tmp_path)
    assert [(each.policy, each.live) for each in costs] == [
        ("gesscale", True),
        ("gesscale", False),
        *((rival, False) for rival in RIVALS),
    ]
    live, simulated, *_ = costs
    # one replica until the last batch ends at 121 s
    assert live.figures["replica-min"].mean == pytest.approx(121 / 60)
    assert live.figures["changes"].mean == 0
    assert simulated.cost.runs == SEEDS
    table = rivals_table(costs, day.scenario)
    assert len(table.rows) == len(costs)
    assert all(len(row) == len(table.headings) for row in table.rows)
