"""Room that was promised to one workflow is no room for another."""

import threading

import pytest

from gesscale.kubernetes.placement.promises import Promises
from gesscale.kubernetes.placement.quantity import Room

ONE, OTHER = ("streams", "one"), ("streams", "other")
TAKES = Room(cpu_m=1000, memory_bytes=10, pods=1)


def test_what_others_await_adds_up_by_node():
    promises = Promises()
    promises.keep(ONE, ["a", "b"], TAKES)
    promises.keep(("streams", "third"), ["b"], TAKES)
    assert promises.to_others(OTHER) == {"a": TAKES, "b": Room(cpu_m=2000, memory_bytes=20, pods=2)}
    assert promises.to_others(ONE) == {"b": TAKES}


def test_a_promise_ends_when_nothing_is_awaited_or_the_resource_is_gone():
    promises = Promises()
    promises.keep(ONE, ["a"], TAKES)
    promises.keep(OTHER, ["b"], TAKES)
    promises.keep(ONE, [], TAKES)
    assert promises.to_others(("x", "y")) == {"b": TAKES}
    promises.forget_all_but([ONE])
    assert promises.to_others(("x", "y")) == {}


def test_a_claim_that_fails_is_taken_back():
    promises = Promises()
    promises.keep(ONE, ["a"], TAKES)
    with pytest.raises(RuntimeError), promises.claiming(ONE, ["b"], TAKES):
        raise RuntimeError
    assert promises.to_others(OTHER) == {"a": TAKES}


def test_of_two_that_claim_at_once_the_second_sees_the_first():
    promises, judging, seen = Promises(), threading.Event(), []

    def claim_second():
        judging.wait(10)
        with promises.claiming(OTHER, ["a"], TAKES) as promised:
            seen.append(promised)

    thread = threading.Thread(target=claim_second)
    thread.start()
    with promises.claiming(ONE, ["a"], TAKES) as promised:
        judging.set()
        thread.join(0.2)  # it waits for us
        assert promised == {}
        assert seen == []
    thread.join(10)
    assert seen == [{"a": TAKES}]
