import math
import socket
from contextlib import ExitStack

import pytest

from gesscale.common.errors import Problem
from latency_map.measure.probes import (
    FIRST_RETRY_S,
    Reply,
    Timeout,
    Unreachable,
    interpret,
    ping_rtt_ms,
    summarise,
    tcp_rtt_ms,
)

LOST = Timeout(timeout_s=1.0)


def replies(*rtts_ms):
    return [Reply(rtt_ms=rtt_ms) for rtt_ms in rtts_ms]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (12.5, Reply),
        (0.0, Reply),  # a reply after no time at all is a reply
        (None, Timeout),
        (False, Unreachable),
        (-3.0, Unreachable),
        (math.nan, Unreachable),
        (math.inf, Unreachable),
    ],
)
def test_results_of_ping3_are_converted(answer, kind):
    assert isinstance(interpret(answer, timeout_s=1.0), kind)


@pytest.mark.parametrize("address", ["", "a..b", "x" * 64 + ".y", "no\0name"])
def test_names_that_cannot_resolve_are_unreachable(address):
    assert isinstance(ping_rtt_ms(address, timeout_s=0.1), Unreachable)
    assert isinstance(tcp_rtt_ms(address, port=9, timeout_s=0.1), Unreachable)


def test_a_port_answers_whether_it_is_open_or_closed():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert tcp_rtt_ms("127.0.0.1", port=port, timeout_s=60).rtt_ms > 0
    assert isinstance(tcp_rtt_ms("127.0.0.1", port=port, timeout_s=60), Reply)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_an_ipv6_address_is_asked_by_ipv6():
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        assert isinstance(tcp_rtt_ms("::1", port=server.getsockname()[1], timeout_s=60), Reply)


@pytest.mark.parametrize(("timeout_s", "waited_s"), [(0.2, 0.2), (30.0, FIRST_RETRY_S)])
def test_silence_is_a_timeout_before_the_kernel_asks_again(timeout_s, waited_s):
    # A listener with a full queue of unaccepted connections drops further ones silently.
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(2):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        answer = tcp_rtt_ms("127.0.0.1", port=server.getsockname()[1], timeout_s=timeout_s)
    assert answer == Timeout(timeout_s=waited_s)


def test_what_the_network_refuses_is_unreachable():
    assert isinstance(tcp_rtt_ms("255.255.255.255", port=9, timeout_s=0.2), Unreachable)


def test_median_and_95th_percentile_are_those_of_the_replies():
    # 0, 1, ..., 20: the middle is 10, the 95th percentile lies at place 0.95 * 20 = 19
    summary = summarise(replies(*range(20, -1, -1)))
    assert (summary.median_ms, summary.p95_ms) == (10, pytest.approx(19))


def test_lost_probes_are_counted_by_kind():
    # 10 -> 13 -> (lost) -> 12: |3| and |1|, mean 2
    first, last = Problem("probe-undeliverable"), Problem("probe-failed", {"cause": "b"})
    samples = [*replies(10, 13), LOST, Unreachable(problem=first), Unreachable(problem=last), LOST, *replies(12)]
    summary = summarise(samples)
    assert (summary.median_ms, summary.jitter_ms) == (12, pytest.approx(2))
    assert (summary.replies, summary.timeouts, summary.unreachable, summary.problem) == (3, 2, 2, last)
    assert summary.loss_ratio == pytest.approx(4 / 7)


@pytest.mark.parametrize(
    ("samples", "median_ms", "jitter_ms", "loss_ratio"),
    [([], None, None, None), ([LOST], None, None, 1.0), (replies(0.0), 0.0, None, 0.0)],
)
def test_what_is_not_known_is_none(samples, median_ms, jitter_ms, loss_ratio):
    summary = summarise(samples)
    assert (summary.median_ms, summary.jitter_ms, summary.loss_ratio) == (median_ms, jitter_ms, loss_ratio)
