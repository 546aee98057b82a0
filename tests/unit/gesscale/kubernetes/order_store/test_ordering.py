"""Orders: written by the leader only, on the spec and order of the decision only."""

import pytest
from kube import EPOCH_S, SPACE, FakeApi, order, order_writer_of, refused
from refusals import refused as refused_with

from gesscale.errors import ClusterError
from gesscale.kubernetes.order_store import Documents, OrderWriter
from gesscale.kubernetes.resource.order import MAX_HISTORY, OrderStatus
from gesscale.wire import read_order

OP = (SPACE, "op")


@pytest.fixture
def api():
    api = FakeApi()
    api.put(mode="Act")
    return api


def write(api, order_writer, *placement, term=1, replaces=None, resource=None, rehearse=False):
    resource = resource or api.workflow().resources["op"]
    return order_writer.write(resource, placement, at_s=EPOCH_S, term=term, replaces=replaces, rehearse=rehearse)


def test_an_order_has_term_count_and_time(api):
    order_writer = order_writer_of(api, lambda: 7)
    first = write(api, order_writer, "a", term=7)
    second = write(api, order_writer, "a", "b", term=7, replaces=first)
    assert (first.id, second.id, second.term) == ("7-1", "7-2", 7)
    assert second.at_s == EPOCH_S
    assert OrderStatus.model_validate(api.status()["order"]) == second == order_writer.current_order(OP)


def test_the_same_is_not_ordered_twice(api):
    order_writer = order_writer_of(api, lambda: 2)
    current = OrderStatus.model_validate(order(4, "a", "b", term=1))
    assert write(api, order_writer, "a", "b", term=2, replaces=current) is current
    assert api.patches == []


@pytest.mark.parametrize("leads", [None, 2])
def test_ended_leadership_orders_nothing_even_if_regained(api, leads):
    with refused_with("leadership-lost", ClusterError, term=1):
        write(api, order_writer_of(api, lambda: leads), "a")
    assert api.status() == {}


def test_leadership_lost_between_two_tries_orders_nothing(api):
    terms = iter([1, None])
    api.errors = [refused(409)]
    with refused_with("leadership-lost", ClusterError):
        write(api, order_writer_of(api, lambda: next(terms)), "a")
    assert api.status() == {}


def test_a_controller_of_a_higher_term_wins(api):
    api.put(status={"order": order(1, "c", term=5)})
    with refused_with("order-term-superseded", ClusterError, term=1, newer_term=5):
        write(api, order_writer_of(api), "a")


def test_an_order_written_since_the_decision_stays(api):
    api.meanwhile = lambda: api.write_status("op", order=order(9, "c"))
    with refused_with("order-superseded", ClusterError, order="1-9", nodes=("c",)):
        write(api, order_writer_of(api), "a")
    assert api.status()["order"]["placement"] == ["c"]


def test_a_spec_changed_since_the_decision_gets_no_order(api):
    decided_on = api.workflow().resources["op"]
    api.put(pause={"reason": "stop"})
    with refused_with("order-spec-changed", ClusterError):
        write(api, order_writer_of(api), "a", resource=decided_on)
    assert api.status() == {}


def test_a_resource_of_the_same_name_is_not_ordered_for_the_former(api):
    decided_on = api.workflow().resources["op"]
    api.delete("op")
    api.put(mode="Act")
    with refused_with("order-spec-changed", ClusterError):
        write(api, order_writer_of(api), "a", resource=decided_on)


def test_a_replaced_order_moves_to_the_history(api):
    order_writer = order_writer_of(api)
    first = write(api, order_writer, "a")
    api.write_status("op", order={"downtimeSeconds": 2.5, "reason": "Overloaded"})
    api.catch_up()
    second = write(api, order_writer, "a", "b", replaces=order_writer.current_order(OP))
    status = api.status()
    assert "downtimeSeconds" not in status["order"]
    assert status["order"]["reason"] == ""
    assert [each["id"] for each in status["history"]] == [first.id]
    assert status["history"][0]["downtimeSeconds"] == 2.5
    assert [(each.id, each.downtime_s) for each in order_writer.orders(OP)] == [(second.id, None), (first.id, 2.5)]
    for number in range(12):
        second = write(api, order_writer, "a" if number % 2 else "b", replaces=second)
    assert len(api.status()["history"]) == MAX_HISTORY


def test_an_order_names_its_lease_and_replaces_one_of_another(api):
    order_writer = OrderWriter(Documents(api, api.watched, lease="gesscale/A"), lambda: 3)
    api.put(mode="Act", status={"order": order(1, "a", term=9)})  # of a controller that does not sign
    unsigned = order_writer.current_order(OP)
    found = write(api, order_writer, "a", term=3, replaces=unsigned)
    assert (found.id, found.written_under, api.status()["order"]["lease"]) == ("3-1", "gesscale/A", "gesscale/A/3-1")
    assert api.status()["lease"] == "gesscale/A"
    assert write(api, order_writer, "a", term=3, replaces=found) is found


def test_lost_nodes_change_without_a_new_order(api):
    order_writer = order_writer_of(api)
    first = write(api, order_writer, "a", "b")
    resource = api.workflow().resources["op"]
    order_writer.change_lost(resource, first, ("b",), term=1)
    assert order_writer.current_order(OP) == first.model_copy(update={"lost": ("b",)})
    assert read_order(api.status()["order"]).lost == ("b",)
    order_writer.change_lost(resource, first, (), term=1)
    assert order_writer.current_order(OP) == first
    second = write(api, order_writer, "c", replaces=first)
    with refused_with("order-superseded", ClusterError, order=second.id):
        order_writer.change_lost(resource, first, ("b",), term=1)
