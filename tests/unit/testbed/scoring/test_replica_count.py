"""Total replicas of a workflow, and number of its scaling actions."""

import pytest

from testbed.scoring.sample import Sample
from testbed.scoring.workflow_totals import ReplicaCount, ReplicaCounter


def taken(*samples: tuple[float, str, int, int], measured_s: float = 100.0) -> ReplicaCount:
    """Return the figures of samples: when, the operator, its replicas, changes ordered at that instant."""
    taker = ReplicaCounter(measured_s)
    for t_s, operator, supply, changes in samples:
        taker.on_sample(
            operator,
            Sample(
                t_s=t_s,
                demand_replicas=1,
                supply_replicas=supply,
                serving_replicas=supply,
                input_rows_per_s=1.0,
                processed_rows_per_s=1.0,
                reconfigurations=changes,
            ),
        )
    return taker.replica_count()


def test_operators_are_counted_together_over_time():
    found = taken((0, "a", 1, 0), (0, "b", 2, 0), (40, "a", 5, 1), (40, "b", 2, 0), (90, "a", 5, 0), (90, "b", 1, 1))
    # 40 s with 3, 50 s with 7, 10 s with 6
    assert found.avg_replicas == pytest.approx((40 * 3 + 50 * 7 + 10 * 6) / 100)
    assert (found.max_replicas, found.final_replicas) == (7, 6)
    assert (found.scaling_actions, found.last_action_s) == (2, 90)


def test_a_move_between_operators_is_no_peak_and_one_action():
    found = taken((0, "a", 1, 0), (0, "b", 4, 0), (50, "a", 4, 1), (50, "b", 1, 1))
    assert found == ReplicaCount(
        avg_replicas=5.0, max_replicas=5, final_replicas=5, scaling_actions=1, last_action_s=50
    )


def test_time_after_the_measurement_does_not_count():
    found = taken((0, "a", 2, 0), (80, "a", 3, 1), (100, "a", 9, 1), (120, "a", 1, 1))
    mean = (80 * 2 + 20 * 3) / 100
    assert found == ReplicaCount(
        avg_replicas=mean, max_replicas=3, final_replicas=3, scaling_actions=1, last_action_s=80
    )
