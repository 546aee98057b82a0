import threading

import pytest

from latency_map.measure.pacing import Pace, Pacer
from latency_map.measure.probe import Reply, Timeout, UnknownHost
from latency_map.measure.sweep import Sweeper, resolve_all

ADDRESSES = {"a": "127.0.0.1", "b": "127.0.0.2", "c": "127.0.0.3"}


def pacer(ends_after=10**9):
    """A pacer whose clock counts the probes and which ends after so many."""
    started = iter(range(10**9))
    return Pacer(Pace(rate_per_s=1e9), clock=lambda: 0.0, sleep=lambda _: next(started) >= ends_after)


def test_nodes_take_turns_and_every_probe_has_a_sequence_number_of_its_own():
    asked, lock = [], threading.Lock()

    def probe(address, sequence):
        with lock:
            asked.append((sequence, address))
        return Reply(rtt_ms=float(sequence))

    sweeper = Sweeper(probe, pacer(), timeout_s=5, first_sequence=65534)
    soundings = sweeper.sweep(ADDRESSES, count=2)
    # 65534, 65535, then from 0 again
    numbers = {65534: "127.0.0.1", 65535: "127.0.0.2", 0: "127.0.0.3",
               1: "127.0.0.1", 2: "127.0.0.2", 3: "127.0.0.3"}  # fmt: skip
    assert dict(asked) == numbers
    assert [one.sample.rtt_ms for one in soundings["a"]] == [65534, 1]  # in the order of sending
    assert sweeper.sent == 6


def test_a_dead_node_holds_up_no_other():
    others_are_done = threading.Event()
    living = threading.Semaphore(0)

    def probe(address, _):
        if address == "127.0.0.1":  # answers only once all others have been probed
            assert others_are_done.wait(timeout=30)
            return Timeout(timeout_s=1)
        living.release()
        return Reply(rtt_ms=1.0)

    def watch():
        for _ in range(4):
            living.acquire(timeout=30)
        others_are_done.set()

    threading.Thread(target=watch, daemon=True).start()
    soundings = Sweeper(probe, pacer(), timeout_s=30).sweep(ADDRESSES, count=2)
    assert [one.sample for one in soundings["a"]] == [Timeout(timeout_s=1)] * 2
    assert [one.sample for one in soundings["c"]] == [Reply(rtt_ms=1.0)] * 2


def test_a_probe_that_never_ends_is_given_up():
    never = threading.Event()
    soundings = Sweeper(lambda *_: never.wait(), pacer(), timeout_s=0.01).sweep({"a": "127.0.0.1"}, count=1)
    assert [one.sample for one in soundings["a"]] == [Timeout(timeout_s=0.01)]
    never.set()


def test_a_name_that_does_not_resolve_is_counted_and_not_probed():
    sweeper = Sweeper(lambda *_: Reply(rtt_ms=1.0), pacer(), timeout_s=5)
    soundings = sweeper.sweep({"a": "127.0.0.1", "b": "a..b"}, count=3)
    assert [type(one.sample) for one in soundings["b"]] == [UnknownHost] * 3
    assert [type(one.sample) for one in soundings["a"]] == [Reply] * 3
    assert sweeper.sent == 3


def test_a_sweep_ends_when_it_is_time_to():
    sweeper = Sweeper(lambda *_: Reply(rtt_ms=1.0), pacer(ends_after=4), timeout_s=5)
    soundings = sweeper.sweep(ADDRESSES, count=9)
    assert sum(len(some) for some in soundings.values()) == sweeper.sent == 4
    assert soundings.keys() == ADDRESSES.keys()


def test_what_a_probe_raises_is_not_lost():
    def broken(*_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Sweeper(broken, pacer(), timeout_s=5).sweep({"a": "127.0.0.1"}, count=1)


def test_addresses_stand_for_themselves():
    assert resolve_all({"a": "10.1.2.3", "b": "fd00::7"}, timeout_s=5) == {"a": "10.1.2.3", "b": "fd00::7"}
