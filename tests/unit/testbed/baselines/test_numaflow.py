"""Numaflow: sources by the time that pending rows need, other operators by the free share of their buffer."""

from dataclasses import replace

import pytest
from edge import batches, known, observe, operator, reading, workflow

from gesscale.model.decision import Reason, Verdict
from gesscale.model.order import Order
from gesscale.policies import policy_named
from gesscale.settings.analyze import AnalyzeSettings
from testbed.baselines.numaflow import NumaflowSettings

NODES = tuple(f"n{index}" for index in range(40))
CHAIN = workflow(
    operator("op", max_replicas=40),
    operator("next", upstream=("op",), max_replicas=40),
    operator("last", upstream=("next",), max_replicas=40),
)


def pending(name, replicas, rows, *, rate=100.0):
    """Return a reading of batches, one each 2 s; `rows` wait or are in a batch."""
    made = batches(NODES[:replicas], at_s=1000.0, rows=int(2 * rate), seconds=1.0)
    ended = [1000.0 - 2.0 * ago for ago in reversed(range(len(made)))]
    waiting = tuple(
        replace(each, ended_at_s=at_s, backlog_rows=rows - each.rows) for each, at_s in zip(made, ended, strict=True)
    )
    return reading(NODES[:replicas], name=name, batches=waiting)


def decided(*seen, changed_s=None, **settings):
    group = NumaflowSettings.model_validate(settings)
    policy = policy_named("numaflow", CHAIN, AnalyzeSettings(numaflow=group))
    orders = {} if changed_s is None else {"op": (Order(at_s=changed_s, placement=NODES[:8], downtime_s=1.0),)}
    return policy.analyze(observe(*seen), known(orders=orders))


def source(replicas, rows, **more):
    return decided(pending("op", replicas, rows), **more)["op"]


@pytest.mark.parametrize(
    ("replicas", "rows", "step", "wanted"),
    [
        (4, 2600.0, 40, 5),  # 2600 / 100 / 20 x 4 = 5.2
        (4, 3000.0, 40, 6),
        (4, 9000.0, 40, 18),
        (4, 9000.0, 2, 6),  # at most two more
        (8, 400.0, 40, 2),  # 1.6
        (8, 400.0, 2, 6),
        (8, 200.0, 40, 1),  # 0.8
    ],
)
def test_a_source_processes_what_is_pending_in_twenty_seconds(replicas, rows, step, wanted):
    assert source(replicas, rows, replicas_per_scale=step).desired_replicas == wanted


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        # Usable 24,000, free target 15,000; of four replicas each gives (24,000 - rows) / 4.
        (14_000.0, 6),  # 15,000 / 2,500
        (4_000.0, 3),  # 15,000 / 5,000
        (24_000.0, 6),  # full: two more
    ],
)
def test_other_operators_keep_half_of_their_buffer_free(rows, wanted):
    assert decided(pending("next", 4, rows))["next"].desired_replicas == wanted


def test_a_change_is_followed_by_ninety_seconds_of_rest():
    resting = source(4, 9000.0, changed_s=911.0)
    assert (resting.verdict, resting.reason) == (Verdict.SAME, Reason.COOLING_DOWN)
    assert source(4, 9000.0, changed_s=910.0).desired_replicas == 6
    assert source(4, 9000.0, changed_s=950.0, scale_up_cooldown="30s").desired_replicas == 6
    assert source(8, 200.0, changed_s=950.0, scale_up_cooldown="30s").verdict is Verdict.SAME


def test_back_pressure_takes_a_replica_of_the_producer_and_holds_those_before_it():
    # 0.9 of 24,000 are 21,600 rows.
    seen = [pending("op", 4, 9000.0), pending("next", 4, 9000.0), pending("last", 4, 21_600.0)]
    found = {name: each.desired_replicas for name, each in decided(*seen).items()}
    # next, which wants 15,000 / 3,750 = 4, is content; op wants more, and the last one presses.
    assert found == {"op": None, "next": 4, "last": 6}
    seen[1] = pending("next", 4, 14_000.0)
    assert decided(*seen)["next"].desired_replicas == 3
    calm = [pending("op", 4, 9000.0), pending("next", 4, 9000.0), pending("last", 4, 21_500.0)]
    assert decided(*calm)["op"].desired_replicas == 6


def test_without_pending_rows_nothing_is_decided():
    unknown = reading(NODES[:4], batches=())
    assert decided(unknown)["op"].reason is Reason.METRICS_MISSING
