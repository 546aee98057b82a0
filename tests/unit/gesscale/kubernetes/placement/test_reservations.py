"""Room reserved for one workflow is not free for another."""

import threading

import pytest

from gesscale.kubernetes.placement.nodes import Room
from gesscale.kubernetes.placement.reservations import Reservations

ONE, OTHER = ("streams", "one"), ("streams", "other")
TAKES = Room(cpu_m=1000, memory_bytes=10, pods=1)


def test_reservations_of_others_add_up_by_node():
    reservations = Reservations()
    reservations.reserve(ONE, ["a", "b"], TAKES)
    reservations.reserve(("streams", "third"), ["b"], TAKES)
    assert reservations.of_others(OTHER) == {"a": TAKES, "b": Room(cpu_m=2000, memory_bytes=20, pods=2)}
    assert reservations.of_others(ONE) == {"b": TAKES}


def test_a_reservation_ends_when_empty_or_its_resource_is_deleted():
    reservations = Reservations()
    reservations.reserve(ONE, ["a"], TAKES)
    reservations.reserve(OTHER, ["b"], TAKES)
    reservations.reserve(ONE, [], TAKES)
    assert reservations.of_others(("x", "y")) == {"b": TAKES}
    reservations.keep_only([ONE])
    assert reservations.of_others(("x", "y")) == {}


def test_a_failed_claim_is_rolled_back():
    reservations = Reservations()
    reservations.reserve(ONE, ["a"], TAKES)
    with pytest.raises(RuntimeError), reservations.claim(ONE, ["b"], TAKES):
        raise RuntimeError
    assert reservations.of_others(OTHER) == {"a": TAKES}


def test_of_two_concurrent_claims_the_second_sees_the_first():
    reservations, judging, seen = Reservations(), threading.Event(), []

    def claim_second():
        judging.wait(60)
        with reservations.claim(OTHER, ["a"], TAKES) as reserved:
            seen.append(reserved)

    thread = threading.Thread(target=claim_second)
    thread.start()
    with reservations.claim(ONE, ["a"], TAKES) as reserved:
        judging.set()
        thread.join(0.2)  # blocked by the first claim
        assert reserved == {}
        assert seen == []
    thread.join(60)
    assert seen == [{"a": TAKES}]
