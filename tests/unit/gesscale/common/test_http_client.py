"""A GET against servers that misbehave on purpose."""

import gzip
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from gesscale.common.http_client import Address, ByteBudget, FetchError, HttpClient
from gesscale.errors import InputError, MetricsUnavailableError
from gesscale.monitor.fetch import check_url, fetch

Talk = Callable[[socket.socket, threading.Event], None]


@contextmanager
def server(talk: Talk) -> Iterator[str]:
    """Serve one connection on a free loopback port; `over` is set when the test has seen enough."""
    over = threading.Event()

    def run() -> None:
        peer, _ = listener.accept()
        with closing(peer):
            talk(peer, over)

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/batches"
        over.set()
        thread.join(60)
        assert not thread.is_alive()


def hang(_peer: socket.socket, over: threading.Event) -> None:
    over.wait(60)


def drip(head: bytes) -> Talk:
    def talk(peer: socket.socket, over: threading.Event) -> None:
        try:
            peer.sendall(head)
            while not over.wait(0.02):  # each byte comes well within a socket's own timeout
                peer.sendall(b"x")
        except OSError:
            pass  # the other side has hung up, which is what it is to do

    return talk


def say(answer: bytes) -> Talk:
    def talk(peer: socket.socket, _over: threading.Event) -> None:
        peer.recv(1000)
        peer.sendall(answer)

    return talk


@pytest.mark.parametrize(
    "talk",
    [
        hang,
        drip(b"HTTP/1.1 200 OK\r\nX-Slow: "),
        drip(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
        drip(b"HTTP/1.1 200 OK\r\n\r\n"),
    ],
    ids=["hang", "head drips", "body drips", "body without length drips"],
)
def test_a_slow_answer_ends_with_the_timeout(talk: Talk) -> None:
    with server(talk) as url, pytest.raises(MetricsUnavailableError, match=r"within 0\.3 s"):
        fetch(url, timeout_s=0.3, max_bytes=1000)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n", "it answered 500 Internal Server Error"),
        (b"HTTP/1.1 299 Odd\r\nContent-Length: 0\r\n\r\n", "it answered 299;"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n", "302 Found"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "no complete HTTP answer"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "the connection failed"),
        (b"", "the connection failed"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1001, "more than 1000 bytes"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"x" * 900, mtime=0), "compressed"),
    ],
)
def test_any_other_answer_is_said(answer: bytes, said: str) -> None:
    with server(say(answer)) as url, pytest.raises(MetricsUnavailableError) as raised:
        fetch(url, timeout_s=60.0, max_bytes=1000)
    assert said in str(raised.value)
    assert url in str(raised.value)


HIDDEN = b"words-of-another-page"


@pytest.mark.parametrize(
    "answer",
    [
        HIDDEN + b"\r\n\r\n",
        b"HTTP/1.1 403 " + HIDDEN + b"\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 " + HIDDEN + b"\r\n\r\n",
        b"HTTP/9.9 200 " + HIDDEN + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: " + HIDDEN + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + HIDDEN + b"\r\n",
        b"HTTP/1.1 404 Not Found\r\n\r\n" + HIDDEN,
    ],
)
def test_an_error_repeats_no_byte_of_the_answer(answer: bytes) -> None:
    with server(say(answer)) as url, pytest.raises(MetricsUnavailableError) as raised:
        fetch(url, timeout_s=60.0, max_bytes=1000)
    assert HIDDEN.decode() not in str(raised.value)


def test_a_name_service_that_hangs_ends_with_the_timeout() -> None:
    over = threading.Event()

    def resolve(_host: str, _port: int) -> list[Address]:
        over.wait(60)
        return []

    with pytest.raises(MetricsUnavailableError, match=r"within 0\.3 s"):
        fetch("http://driver:9108/", timeout_s=0.3, max_bytes=1000, client=HttpClient(resolve))
    over.set()


def test_a_tls_handshake_that_hangs_ends_with_the_timeout() -> None:
    with server(drip(b"\x16\x03\x03\x3f\xff")) as url, pytest.raises(MetricsUnavailableError, match=r"within 0\.3 s"):
        fetch(url.replace("http:", "https:"), timeout_s=0.3, max_bytes=1000)


def test_a_connection_goes_only_where_the_resolver_says() -> None:
    def nowhere(host: str, port: int) -> list[Address]:
        raise FetchError(f"{host}:{port} is not allowed")

    with pytest.raises(MetricsUnavailableError, match=r"127\.0\.0\.1:1 is not allowed"):
        fetch("http://127.0.0.1:1/", timeout_s=60.0, max_bytes=1000, client=HttpClient(nowhere))


@pytest.mark.parametrize("url", ["http://user@127.0.0.1/", "http://[fe80::1%25eth0]/", "file:///etc/passwd"])
def test_an_address_with_more_than_host_and_port_is_not_asked(url: str) -> None:
    with pytest.raises(MetricsUnavailableError, match="expected an address such as"):
        fetch(url, timeout_s=60.0, max_bytes=1000)


@pytest.mark.parametrize("url", ["", "10.0.0.1:9108", "ftp://a", "http://", "http://a:0", "http://a:9x", "http://[a"])
def test_an_address_that_cannot_be_asked_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="expected an address such as"):
        check_url(url, "metrics of operator 'op'")


@pytest.mark.parametrize("url", ["http://a/?x=1", "http://a/#x", "http://u:p@a/", "http://a/%0d", "http://a?"])
def test_an_address_with_a_query_or_a_user_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="without user name, query and escapes"):
        check_url(url, "metrics of operator 'op'")


def test_answers_that_are_held_at_the_same_time_share_a_budget() -> None:
    client = HttpClient(budget=ByteBudget(1500))
    page = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1000
    with server(say(page)) as first, client.page(first, timeout_s=60.0, max_bytes=1000) as body:
        assert len(body) == 1000
        with server(say(page)) as url, pytest.raises(MetricsUnavailableError, match="it is not read"):
            fetch(url, timeout_s=60.0, max_bytes=1000, client=client)
    with server(say(page)) as url:  # the first one is given back by now
        assert len(fetch(url, timeout_s=60.0, max_bytes=1000, client=client)) == 1000
