"""Documents of decisions, orders and nodes."""

from dataclasses import replace

import pytest
from edge import NODES, batches, latencies, reading
from page_world import growing
from recorded_steps import T0_S, decided

from gesscale.model.decision import Reason, Verdict
from gesscale.model.order import Order
from gesscale.ports import ClusterState, Latencies, Node
from gesscale.service.documents import MAX_NODES, cost_of, nodes_document, point_of, state_of
from latency_map import DelayKind, DelayUnit, LatencyMap


@pytest.mark.parametrize(
    ("busy", "saturated", "load", "state"),
    [(1.0, 0.5, 100.0, "lagging"), (0.7, 0.49, 100.0, "busy"), (0.69, 0.0, 100.0, "steady"), (0.1, 0.0, 0.0, "idle")],
)
def test_a_state_is_one_word(busy, saturated, load, state):
    seen = reading(busy_share=busy, saturated_share=saturated, input_rows_per_s=load, throughput_rows_per_s=0.0)
    assert state_of(seen) == state


def test_a_point_holds_what_a_graph_and_a_chart_need():
    point = point_of(growing(T0_S), {"at_s": T0_S})
    assert (point["state"], point["verdict"], point["reason"]) == ("lagging", "More", "Overloaded")
    assert (point["before"], point["add"]) == (["hub", "near"], ["mid"])
    assert (point["nd_max_ms"], point["planned_nd_max_ms"]) == (10.0, 50.0)
    assert (point["acted"], point["order"], point["changes"]) == (True, {"at_s": T0_S}, None)
    blind = decided(reason=Reason.METRICS_MISSING, verdict=Verdict.UNKNOWN, seen=False)
    point = point_of(blind)
    assert (point["state"], point["mst"], point["input_rows_per_s"], point["order"]) == ("unknown", None, None, None)


def test_an_order_costs_the_longest_stop_until_a_batch_runs_on_all_its_nodes():
    # Batches of 2 s end at T0 on hub, and 7 s later on both nodes: the last left 10 rows, which waited for 5 s.
    before = batches(("hub",), at_s=T0_S, rows=50, seconds=2.0)
    before = (*before[:-1], replace(before[-1], backlog_rows=10.0))
    after = batches(("hub", "near"), at_s=T0_S + 13, rows=50, seconds=2.0)
    order = Order(placement=("hub", "near"), at_s=T0_S)
    assert cost_of(order, (*before, *after)) == {"at_s": T0_S, "downtime_s": 5.0, "first_tasks_s": 5.0}
    settled = order.ended(T0_S + 9, 6.5, arrived=True)
    assert cost_of(settled, (*before, *after))["downtime_s"] == 6.5
    # Batches that do not reach back to the order may have missed the first one.
    assert cost_of(settled, after) == {"at_s": T0_S, "downtime_s": 6.5, "first_tasks_s": None}
    assert cost_of(order, before) == {"at_s": T0_S, "downtime_s": None, "first_tasks_s": None}


def test_nodes_have_their_delays_and_what_keeps_them_from_replicas():
    full = Node(name="far", problem="no room", reason=Reason.NO_ROOM)
    state = ClusterState(
        nodes={**{name: Node(name=name) for name in NODES}, "far": full, "new": Node(name="new")},
        ineligible={"op": {"mid": Node(name="mid", problem="not in the pool", reason=Reason.NOT_IN_POOL)}},
    )
    document = nodes_document(latencies(), state, {"near"})
    assert document["names"] == ["near", "edge", "far", "hub", "mid"]
    assert document["rtt_ms"][0] == [0.0, 290.0, 190.0, 10.0, 45.0]  # from near, by the table of `edge`
    assert document["not_in_map"] == ["new"]
    assert document["ineligible"] == {"far": {"reason": "NoRoom", "detail": "no room"}}
    assert document["ineligible_for"]["op"]["mid"]["reason"] == "NotInPool"
    assert nodes_document(Latencies(), state, ())["rtt_ms"] == []


def test_a_large_map_is_cut_down_to_what_is_used_and_some():
    count = MAX_NODES + 30
    names = [f"n{index:03d}" for index in range(count)]
    table = [[0.0 if a == b else 5.0 for b in range(count)] for a in range(count)]
    large = LatencyMap.from_delays(names, table, unit=DelayUnit.MS, kind=DelayKind.RTT)
    document = nodes_document(Latencies(map=large), ClusterState(), {names[-1]})
    assert (document["names"][0], len(document["names"]), document["omitted"]) == (names[-1], MAX_NODES, 30)
