import socket
from contextlib import ExitStack

import pytest

from latency_map.measure.probe import Reply, Timeout, UnknownHost, Unreachable
from latency_map.measure.tcp import FIRST_RETRY_S, tcp_rtt_ms


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def port_of(server):
    return server.getsockname()[1]


def test_an_open_port_answers(listener):
    answer = tcp_rtt_ms("127.0.0.1", port=port_of(listener), timeout_s=60)
    assert isinstance(answer, Reply)
    assert answer.rtt_ms > 0


def test_a_closed_port_answers_too(listener):
    port = port_of(listener)
    listener.close()
    assert isinstance(tcp_rtt_ms("127.0.0.1", port=port, timeout_s=60), Reply)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_an_ipv6_address_is_asked_by_ipv6():
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        assert isinstance(tcp_rtt_ms("::1", port=port_of(server), timeout_s=60), Reply)


@pytest.mark.parametrize(("timeout_s", "waited_s"), [(0.2, 0.2), (30.0, FIRST_RETRY_S)])
def test_silence_is_a_timeout_before_the_kernel_asks_again(timeout_s, waited_s):
    # A listener with a full queue of unaccepted connections drops further ones silently.
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(2):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        answer = tcp_rtt_ms("127.0.0.1", port=port_of(server), timeout_s=timeout_s)
    assert answer == Timeout(timeout_s=waited_s)


@pytest.mark.parametrize("address", ["", "a..b", "no\0name"])
def test_names_that_cannot_resolve_are_unknown_hosts(address):
    assert isinstance(tcp_rtt_ms(address, port=9, timeout_s=0.1), UnknownHost)


def test_what_the_network_refuses_is_unreachable():
    # 240.0.0.0/4 is reserved; the kernel has no way there
    assert isinstance(tcp_rtt_ms("255.255.255.255", port=9, timeout_s=0.2), Unreachable)
