import math
import threading

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gesscale.common.metrics_text import exposition
from latency_map.measure.gauges import agent_metrics
from latency_map.measure.probes import Reply, Timeout, Unreachable
from latency_map.measure.sweep import Measurements, Pacer, SentProbe, Sweeper, neighbours

ADDRESSES = {"a": "127.0.0.1", "b": "127.0.0.2", "c": "127.0.0.3"}


def pacer(ends_after=10**9):
    """A pacer whose clock counts the probes and which ends after so many."""
    started = iter(range(10**9))
    return Pacer(1e9, clock=lambda: 0.0, sleep=lambda _: next(started) >= ends_after)


def test_nodes_take_turns_and_sequence_numbers_are_unique():
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
    assert [type(one.sample) for one in soundings["b"]] == [Unreachable] * 3
    assert [type(one.sample) for one in soundings["a"]] == [Reply] * 3
    assert sweeper.sent == 3


class Time:
    """A clock that only sleeping moves."""

    def __init__(self, ends_at_s=1e9):
        self.now_s = 100.0
        self.ends_at_s = ends_at_s

    def sleep(self, seconds):
        self.now_s += seconds
        return self.now_s >= self.ends_at_s

    def pacer(self, rate_per_s):
        return Pacer(rate_per_s, clock=lambda: self.now_s, sleep=self.sleep)


def test_a_pacer_sleeps_until_the_next_start():
    pacer = Time().pacer(4)
    assert [pacer.wait() for _ in range(3)] == pytest.approx([100.0, 100.25, 100.5])


def test_a_pacer_reports_a_stop():
    pacer = Time(ends_at_s=100.15).pacer(10)
    assert [pacer.wait() for _ in range(3)] == [100.0, pytest.approx(100.1), None]


def sounding(sent_at_s, rtt_ms=None):
    sample = Timeout(timeout_s=1.0) if rtt_ms is None else Reply(rtt_ms=rtt_ms)
    return SentProbe(sent_at_s=sent_at_s, sample=sample)


@pytest.fixture
def board():
    filled = Measurements(kept=3)
    filled.keep(["a", "b"], window_s=10)
    filled.add({"a": [sounding(0, 5.0), sounding(4, 7.0), sounding(8)], "b": [sounding(1)]})
    return filled


def test_a_pair_is_summed_up_over_what_is_kept(board):
    measured = board.measured(now_s=9)
    assert measured["a"].summary.median_ms == 6
    assert measured["a"].replied_at_s == 4  # the last one was lost
    assert measured["b"].replied_at_s is None


def test_a_peer_that_has_gone_is_forgotten(board):
    board.keep(["b"], window_s=10)
    assert board.measured(now_s=9).keys() == {"b"}
    board.keep(["a", "b"], window_s=10)
    assert board.measured(now_s=9).keys() == {"b"}


def figures(board, *, now_s, wall_s):
    page = exposition(agent_metrics("me", board.measured(now_s), now_s=wall_s, clock_s=now_s, sent=12, rounds=3))
    samples = [each for family in text_string_to_metric_families(page.decode()) for each in family.samples]
    return {(each.name.removeprefix("gesscale_latency_"), each.labels.get("target")): each.value for each in samples}


def test_gauges_are_in_base_units_with_a_timestamp(board):
    assert figures(board, now_s=9, wall_s=1_000_009) == {
        ("rtt_seconds", "a"): pytest.approx(0.006),
        # 5 and 7: at 95 % of the way from one to the other
        ("rtt_p95_seconds", "a"): pytest.approx(0.0069),
        ("jitter_seconds", "a"): pytest.approx(0.002),
        ("loss_ratio", "a"): pytest.approx(1 / 3),
        ("loss_ratio", "b"): 1.0,
        ("probes", "a"): 3.0,
        ("probes", "b"): 1.0,
        ("measured_timestamp_seconds", "a"): 1_000_004.0,
        ("sent_total", None): 12.0,
        ("rounds_total", None): 3.0,
    }


def test_a_wall_clock_that_is_set_back_keeps_no_figure_alive(board):
    back = figures(board, now_s=9, wall_s=500)
    assert back["measured_timestamp_seconds", "a"] == 495
    assert not any(math.isnan(value) for value in back.values())
    assert {target for _, target in figures(board, now_s=30, wall_s=500)} == {None}


def names(n):
    return [f"edge{number}" for number in range(n)]


def test_neighbours_depend_on_node_and_round_only():
    def choose(everyone, *, node="edge3", turn=1):
        return neighbours(node, everyone, each=3, turn=turn)

    usual = choose(names(20))
    assert choose(reversed(names(20))) == usual
    assert choose([name for name in names(20) if name != "edge3"]) == usual  # it need not be in its own list
    assert choose(names(20), turn=2) != usual
    assert choose(names(20), node="edge4") != usual
