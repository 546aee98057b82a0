"""The Horizontal Pod Autoscaler with the defaults of Kubernetes, on CPU and on KEDA's lag."""

import pytest
from edge import known, observe, reading, workflow
from hpa_readings import op, placed

from gesscale.model.decision import Reason, Verdict
from gesscale.model.order import Order
from gesscale.policies import policy_named
from gesscale.settings.analyze import AnalyzeSettings
from testbed.baselines.hpa_v2 import HpaV2Settings
from testbed.baselines.keda_kafka import KedaKafkaSettings
from testbed.baselines.shared.hpa import Recommendations


def decided(seen, *, policy="hpa-v2", proposals=((0.0, 1),), lowest=(), orders=(), most=1000, **settings):
    """Return the analysis; what was proposed before has left the window of 300 s by default."""
    groups = {"hpa-v2": ("hpa_v2", HpaV2Settings), "keda-kafka": ("keda_kafka", KedaKafkaSettings)}
    field, group = groups[policy]
    memo = Recommendations(policy=policy, at_s=proposals[-1][0], proposals=proposals, lowest=lowest).model_dump_json()
    made = policy_named(policy, workflow(op(most=most)), AnalyzeSettings(**{field: group.model_validate(settings)}))
    return made.analyze(observe(seen), known(memos={"op": memo}, orders={"op": orders} if orders else {}))["op"]


def cpu(replicas, share, **more):
    return decided(reading(placed(replicas), cpu_share=share, busy_share=1.0), **more)


@pytest.mark.parametrize(
    ("replicas", "share", "wanted"),
    [
        (4, 1.0, 5),  # 4 x 1.0 / 0.8
        (4, 0.87, 4),  # 1.0875, within 0.1 of 1
        (4, 0.89, 5),  # 1.1125: 4.45
        (4, 0.73, 4),  # 0.9125
        (4, 0.7, 4),  # 0.875: 3.5
        (4, 0.4, 2),
        (4, 0.0, 1),
    ],
)
def test_cpu_is_brought_to_its_target_outside_the_tolerance(replicas, share, wanted):
    assert cpu(replicas, share).desired_replicas == wanted


def test_without_cpu_there_is_no_decision():
    found = cpu(4, None)
    assert (found.verdict, found.reason, found.desired_replicas) == (Verdict.SAME, Reason.METRICS_MISSING, None)


def test_scale_in_uses_the_highest_and_scale_out_the_lowest_proposal_of_its_window():
    assert cpu(8, 0.1, proposals=((900.0, 6),)).desired_replicas == 6
    held = cpu(8, 0.1, proposals=((900.0, 8),))
    assert (held.verdict, held.reason) == (Verdict.SAME, Reason.COOLING_DOWN)
    # 4 x 1.0 / 0.5 = 8; 5 were proposed 30 s ago, within the window for scale-out of 60 s, and 6 before it
    up = {"cpu_target_share": 0.5, "scale_up_stabilization": "1m"}
    assert cpu(4, 1.0, lowest=((900.0, 6), (970.0, 5)), **up).desired_replicas == 5
    assert cpu(4, 1.0, lowest=((900.0, 5),), **up).desired_replicas == 8
    assert cpu(4, 1.0, lowest=((970.0, 3),), **up).verdict is Verdict.SAME  # it never removes


@pytest.mark.parametrize(
    ("present", "ordered", "wanted"),
    [
        (1, None, 5),  # 1 + 4 pods; 100 % would be 2
        (6, None, 12),  # 100 %; 4 pods would be 10
        (6, (10.0, 4), 8),  # 4 at the start of the period of 15 s: 100 %, or 4 pods
        (6, (20.0, 4), 12),  # before the period
        (8, (10.0, 4), 8),  # nothing is left
    ],
)
def test_a_period_adds_four_pods_or_as_many_as_there_were(present, ordered, wanted):
    orders = ()
    if ordered is not None:
        ago, before = ordered
        orders = (Order(at_s=1000.0 - ago, placement=tuple(placed(present)), before=before, downtime_s=1.0),)
    # 100 replicas are proposed for 5, and more for more: each wants more than it may have.
    assert cpu(present, 1.0, orders=orders, cpu_target_share=0.01).desired_replicas == wanted


def test_a_share_limits_scale_in():
    # 10 x 0.08 / 0.8 = 1; 25 % of 10 may go: 7.5, rounded down as in Kubernetes
    assert cpu(10, 0.08, scale_down_percent=25).desired_replicas == 7


def lag(replicas, rows, threshold, **changes):
    seen = reading(placed(replicas), backlog=rows, **changes)
    return decided(seen, policy="keda-kafka", lag_threshold_rows=threshold)


@pytest.mark.parametrize(
    ("replicas", "rows", "threshold", "partitions", "wanted"),
    [
        (4, 45_000.0, 10_000, None, 5),  # 4.5 of 4: 1.125
        (4, 43_000.0, 10_000, None, 4),  # 1.075, within 0.1 of 1
        (4, 90_000.0, 10_000, 6, 6),  # 9, but a consumer of 7 would have no partition
        (4, 0.0, 10_000, None, 1),
        (1, 30.0, 10, None, 3),
    ],
)
def test_keda_has_a_replica_for_each_threshold_of_lag(replicas, rows, threshold, partitions, wanted):
    assert lag(replicas, rows, threshold, useful_replicas=partitions).desired_replicas == wanted


def test_without_a_lag_keda_decides_nothing():
    assert lag(4, None, 10).reason is Reason.METRICS_MISSING
    assert KedaKafkaSettings().lag_threshold_rows == 10
