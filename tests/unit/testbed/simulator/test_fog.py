import pytest
from pydantic import ValidationError
from refusals import refused
from spark_scenes import equal_delays, nodes

from gesscale.errors import InputError
from gesscale.model.decision import Reason
from testbed.simulator.fog import Fog
from testbed.simulator.scene import LinkSlowdown, NodeFailure


def test_a_slow_link_adds_to_the_map_while_it_lasts() -> None:
    slow = LinkSlowdown(one="n1", other="n0", from_s=100, until_s=200, added_ms=40)
    fog = Fog(nodes(3), equal_delays(3, 10), slowdowns=[slow])
    assert [fog.rtt_ms("n0", "n1", at_s) for at_s in (99.9, 100, 199.9, 200)] == [10, 50, 50, 10]
    assert fog.rtt_ms("n1", "n0", 150) == 50
    assert fog.rtt_ms("n0", "n2", 150) == 10
    assert fog.base_rtt_ms("n0", "n1") == 10
    assert fog.rtt_ms("n0", "n0", 150) == 0


def test_links_without_named_ends_are_all_those_of_a_node_or_of_the_map() -> None:
    slow = [
        LinkSlowdown(from_s=100, until_s=200, factor=2),
        LinkSlowdown(one="n1", from_s=300, until_s=400, factor=3, added_ms=5),
    ]
    fog = Fog(nodes(3), equal_delays(3, 10), slowdowns=slow)
    assert fog.latency_map(150).rtt_ms.tolist() == [[0, 20, 20], [20, 0, 20], [20, 20, 0]]
    assert fog.latency_map(350).rtt_ms.tolist() == [[0, 35, 10], [35, 0, 35], [10, 35, 0]]
    assert fog.latency_map(250).rtt_ms.tolist() == equal_delays(3, 10).rtt_ms.tolist()


@pytest.mark.parametrize(("given", "code"), [({}, "link-unchanged"), ({"one": "n0", "other": "n0"}, "link-ends-equal")])
def test_a_slow_link_that_cannot_be_slow_is_refused(given: dict[str, str], code: str) -> None:
    with pytest.raises(ValidationError) as error:
        LinkSlowdown.model_validate({"from": 0, "until": 1, **given})
    assert code in repr(error.value.errors())


def test_a_node_that_failed_is_down_in_the_cluster_state() -> None:
    fog = Fog(nodes(2), equal_delays(2, 1), failures=[NodeFailure(node="n1", from_s=10, until_s=20)])
    assert [fog.is_up("n1", at_s) for at_s in (9.9, 10, 19.9, 20)] == [True, False, False, True]
    assert not fog.cluster_state(5, {}).nodes["n1"].problem
    down = fog.cluster_state(10, {}).nodes["n1"]
    assert down.reason is Reason.NOT_READY
    assert down.problem
    assert not fog.cluster_state(20, {}).nodes["n1"].problem
    assert not fog.cluster_state(5, {}).nodes["n1"].problem  # an earlier instant is valid, too


def test_a_fault_of_an_unknown_node_is_rejected() -> None:
    with refused("fault-node-unknown", InputError, nodes=["zz"]):
        Fog(nodes(1), equal_delays(1, 1), failures=[NodeFailure(node="zz", from_s=0, until_s=1)])
