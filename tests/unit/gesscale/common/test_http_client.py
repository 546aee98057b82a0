"""A GET against servers that misbehave on purpose."""

import gzip
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
from refusals import refused

from gesscale.common.http_client import Address, ByteBudget, FetchError, HttpClient
from gesscale.errors import InputError
from gesscale.monitor.fetch import check_url

Talk = Callable[[socket.socket, threading.Event], None]

fetch = HttpClient().fetch


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


def send(answer: bytes) -> Talk:
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
    with server(talk) as url, refused("fetch-timeout", FetchError, timeout_s=0.3):
        fetch(url, timeout_s=0.3, max_bytes=1000)


@pytest.mark.parametrize(
    ("answer", "code", "fields"),
    [
        (
            b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n",
            "fetch-status-unexpected",
            {"status": 500, "response": "500 Internal Server Error"},
        ),
        (
            b"HTTP/1.1 299 Odd\r\nContent-Length: 0\r\n\r\n",
            "fetch-status-unexpected",
            {"status": 299, "response": "299"},
        ),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n",
            "fetch-redirect-refused",
            {"status": 302},
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "fetch-response-invalid", {}),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "fetch-response-invalid", {}),
        (b"", "fetch-connection-failed", {}),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1001, "fetch-response-oversized", {"max_bytes": 1000}),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"x" * 900, mtime=0),
            "fetch-response-compressed",
            {},
        ),
    ],
)
def test_any_other_response_has_a_code(answer: bytes, code: str, fields: dict[str, object]) -> None:
    with server(send(answer)) as url, refused(code, FetchError, **fields):
        fetch(url, timeout_s=60.0, max_bytes=1000)


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
    with server(send(answer)) as url, pytest.raises(FetchError) as raised:
        fetch(url, timeout_s=60.0, max_bytes=1000)
    assert HIDDEN.decode() not in repr(raised.value.fields)
    assert HIDDEN.decode() not in str(raised.value)


def test_a_name_service_that_hangs_ends_with_the_timeout() -> None:
    over = threading.Event()

    def resolve(_host: str, _port: int) -> list[Address]:
        over.wait(60)
        return []

    with refused("fetch-timeout", FetchError, timeout_s=0.3):
        HttpClient(resolve).fetch("http://driver:9108/", timeout_s=0.3, max_bytes=1000)
    over.set()


def test_a_tls_handshake_that_hangs_ends_with_the_timeout() -> None:
    with server(drip(b"\x16\x03\x03\x3f\xff")) as url, refused("fetch-timeout", FetchError, timeout_s=0.3):
        fetch(url.replace("http:", "https:"), timeout_s=0.3, max_bytes=1000)


def test_a_connection_goes_only_where_the_resolver_says() -> None:
    def nowhere(host: str, port: int) -> list[Address]:
        raise FetchError("test-refused", address=f"{host}:{port}")

    with refused("test-refused", FetchError, address="127.0.0.1:1"):
        HttpClient(nowhere).fetch("http://127.0.0.1:1/", timeout_s=60.0, max_bytes=1000)


@pytest.mark.parametrize("url", ["http://user@127.0.0.1/", "http://[fe80::1%25eth0]/", "file:///etc/passwd"])
def test_an_address_with_more_than_host_and_port_is_not_asked(url: str) -> None:
    with refused("fetch-url-invalid", FetchError, url=url):
        fetch(url, timeout_s=60.0, max_bytes=1000)


@pytest.mark.parametrize("url", ["", "10.7.0.1:9108", "ftp://a", "http://", "http://a:0", "http://a:9x", "http://[a"])
def test_an_address_that_cannot_be_asked_is_refused(url: str) -> None:
    with pytest.raises(InputError):
        check_url(url, "metrics of operator 'op'")


@pytest.mark.parametrize("url", ["http://a/?x=1", "http://a/#x", "http://u:p@a/", "http://a/%0d", "http://a?"])
def test_an_address_with_a_query_or_a_user_is_refused(url: str) -> None:
    with pytest.raises(InputError):
        check_url(url, "metrics of operator 'op'")


def test_answers_that_are_held_at_the_same_time_share_a_budget() -> None:
    client = HttpClient(budget=ByteBudget(1500))
    page = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1000
    with server(send(page)) as first, client.page(first, timeout_s=60.0, max_bytes=1000) as body:
        assert len(body) == 1000
        with server(send(page)) as url, refused("fetch-budget-exhausted", FetchError):
            client.fetch(url, timeout_s=60.0, max_bytes=1000)
    with server(send(page)) as url:  # the first one is given back by now
        assert len(client.fetch(url, timeout_s=60.0, max_bytes=1000)) == 1000
