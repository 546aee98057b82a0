import math

import numpy as np
import pytest
from spark_scenes import equal_delays, nodes

from gesscale.errors import InputError
from gesscale.model.decision import Reason
from latency_map import LatencyMap
from testbed.simulator.fog import Fog
from testbed.simulator.scene import LinkSlowdown, NodeFailure, SimulatedNode


def test_a_slow_link_adds_to_the_map_from_its_beginning_until_right_before_its_end() -> None:
    slow = LinkSlowdown(one="n1", other="n0", from_s=100, until_s=200, added_ms=40)
    fog = Fog(nodes(3), equal_delays(3, 10), slowdowns=[slow])
    assert [fog.rtt_ms("n0", "n1", at_s) for at_s in (99.9, 100, 199.9, 200)] == [10, 50, 50, 10]
    assert fog.rtt_ms("n1", "n0", 150) == 50
    assert fog.rtt_ms("n0", "n2", 150) == 10
    assert fog.base_rtt_ms("n0", "n1") == 10
    assert fog.rtt_ms("n0", "n0", 150) == 0


def test_slowdowns_of_one_link_that_overlap_add_up() -> None:
    slow = [LinkSlowdown(one="n0", other="n1", from_s=0, until_s=9, added_ms=added) for added in (5, 7)]
    assert Fog(nodes(2), equal_delays(2, 1), slowdowns=slow).rtt_ms("n0", "n1", 3) == 13


def test_a_node_that_failed_is_down_and_the_cluster_says_so() -> None:
    fog = Fog(nodes(2), equal_delays(2, 1), failures=[NodeFailure(node="n1", from_s=10, until_s=20)])
    assert [fog.is_up("n1", at_s) for at_s in (9.9, 10, 19.9, 20)] == [True, False, False, True]
    assert not fog.cluster_state(5, {}).nodes["n1"].problem
    down = fog.cluster_state(10, {}).nodes["n1"]
    assert (down.reason, down.problem) == (Reason.NOT_READY, "the node is down")
    assert not fog.cluster_state(20, {}).nodes["n1"].problem
    assert not fog.cluster_state(5, {}).nodes["n1"].problem  # an earlier instant is right, too


def test_the_cluster_is_one_value_until_replicas_or_nodes_change() -> None:
    fog = Fog(nodes(3), equal_delays(3, 1), failures=[NodeFailure(node="n1", from_s=10, until_s=20)])
    before = fog.cluster_state(1, {"op": ("n1",)})
    assert fog.cluster_state(9, {"op": ("n1",)}) is before
    moved = fog.cluster_state(9, {"op": ("n2",)})
    assert moved.placements == {"op": ("n2",)}
    assert moved.usable == before.usable
    assert "n1" not in fog.cluster_state(10, {"op": ("n2",)}).usable


def test_the_cluster_tells_the_weight_that_the_scaler_is_to_believe() -> None:
    odd = {
        "a": SimulatedNode(name="a", weight=0.5),
        "b": SimulatedNode(name="b", weight=0.5, reported_weight=2.0),
    }
    reported = Fog(odd, LatencyMap(names=("a", "b"), rtt_ms=np.zeros((2, 2)))).cluster_state(0, {}).nodes
    assert (reported["a"].weight, reported["b"].weight) == (0.5, 2.0)


def test_changes_come_in_order_and_end() -> None:
    fog = Fog(
        nodes(2),
        equal_delays(2, 1),
        [NodeFailure(node="n1", from_s=10, until_s=20)],
        [LinkSlowdown(one="n0", other="n1", from_s=15, until_s=20, added_ms=1)],
    )
    seen, at_s = [], -1.0
    while math.isfinite(at_s := fog.next_change_s(at_s)):
        seen.append(at_s)
    assert seen == [10, 15, 20]
    assert Fog(nodes(1), equal_delays(1, 0)).next_change_s(0) == math.inf


def test_a_map_with_gaps_among_the_nodes_is_refused() -> None:
    rtt_ms = np.array([[0.0, np.nan], [np.nan, 0.0]])
    with pytest.raises(InputError, match=r"no round trip for 1 pairs.*n0 - n1"):
        Fog(nodes(2), LatencyMap(names=("n0", "n1"), rtt_ms=rtt_ms))
    with pytest.raises(InputError, match="lacks n2"):
        Fog(nodes(3), equal_delays(2, 1))


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (NodeFailure(node="zz", from_s=0, until_s=1), "expected nodes of the scene, got zz"),
        (NodeFailure(node="n0", from_s=5, until_s=5), "from_s < until_s"),
        (NodeFailure(node="n0", from_s=-1, until_s=5), "from_s < until_s"),
    ],
)
def test_faults_that_cannot_be_are_refused(failure: NodeFailure, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Fog(nodes(1), equal_delays(1, 0), failures=[failure])
