"""The HTTP server of agents, drivers and the controller, asked well and badly; on loopback."""

import contextlib
import json
import socket
import struct
import threading
import time
from http import HTTPStatus
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from gesscale.common.errors import InvalidValueError, Problem
from gesscale.common.http_server import (
    MAX_CONNECTIONS,
    MAX_STREAMS,
    HttpStatusError,
    PageServer,
    UnavailableError,
    json_body,
)

SETTLE_S = 60  # bound of a wait, not an expectation
SOON_S = 1.0
LARGE = 32 << 20  # beyond what the sockets of both ends hold


def refuse(parameters):
    raise ValueError(f"no use: {parameters['after'][0]}")


def fail(_parameters):
    raise RuntimeError("gone")


def decline(_parameters):
    raise UnavailableError(Problem("not-yet", {"since_s": 5}), Problem("not-now"))


def refuse_value(_parameters):
    raise InvalidValueError("no-such-value", value="x")


PAGES = {
    "/ok": json_body,
    "/refuse": refuse,
    "/refuse_value": refuse_value,
    "/fail": fail,
    "/decline": decline,
    "/large": lambda _parameters: ("text/plain", bytes(LARGE)),
    "/broken": lambda _parameters: ("text/\u20ac", b""),
}


@contextlib.contextmanager
def serving(pages=PAGES, **options):
    server = PageServer("127.0.0.1", 0, pages, **options)
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def server():
    with serving() as server:
        yield server


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=SETTLE_S)


def say(server, request):
    """Return all that comes back for a request, as far as it comes."""
    with connect(server) as client:
        client.sendall(request)
        return rest_of(client)


def codes_of(response):
    with response:
        assert response.headers["Content-Type"] == "application/json"
        return [error["code"] for error in json.load(response)["errors"]]


def rest_of(client):
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := client.recv(1 << 20):
            parts.append(part)
    return b"".join(parts)


def reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def handlers():
    return sum("process_request_thread" in thread.name for thread in threading.enumerate())


def await_until(true):
    deadline_s = time.monotonic() + SETTLE_S
    while not true():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("path", "status", "found"),
    [
        ("/none", 404, ["http-page-unknown"]),
        ("/refuse?after=x", 400, ["http-request-invalid"]),
        ("/refuse_value", 400, ["no-such-value"]),
        ("/decline", 503, ["not-yet", "not-now"]),
        ("/fail", 500, ["http-page-failed"]),
    ],
)
def test_an_error_response_has_codes(server, path, status, found):
    with pytest.raises(HTTPError) as caught:
        urlopen(f"{server.url}{path}", timeout=SETTLE_S)
    assert caught.value.code == status
    assert codes_of(caught.value) == found


@pytest.mark.parametrize(
    "request_head",
    [b"GET /ok?" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n", b"GET /ok HTTP/1.1\r\n" + b"A: b\r\n" * 4000 + b"\r\n"],
    ids=["line", "headers"],
)
def test_a_request_that_says_too_much_is_refused(request_head):
    asked = []
    with serving({"/ok": lambda parameters: (asked.append(parameters) or "text/plain", b"")}) as server:
        answer = say(server, request_head)
    # what was not read makes the kernel reset the connection, which may overtake the answer
    assert answer == b"" or answer.startswith(b"HTTP/1.0 431 ")
    assert asked == []


def test_a_client_that_sends_a_byte_now_and_then_is_cut():
    with serving(deadline_s=SOON_S) as server, connect(server) as client:
        client.sendall(b"GET /ok HTTP/1.1\r\nX: ")
        client.settimeout(0.02)
        for _ in range(3000):
            try:
                client.sendall(b"a")
                if client.recv(1) == b"":
                    return
            except TimeoutError:
                continue
            except ConnectionError:
                return
        pytest.fail("it may go on for ever")


def test_idle_clients_neither_keep_others_out_nor_pile_up(server):
    most = 0
    with contextlib.ExitStack() as held:
        for _ in range(300):
            held.enter_context(connect(server))
            most = max(most, handlers())
        await_until(lambda: say_or_nothing(server, b"GET /ok HTTP/1.1\r\n\r\n").endswith(b"\r\n\r\n{}"))
    assert most <= MAX_CONNECTIONS


def say_or_nothing(server, request):
    try:
        return say(server, request)
    except ConnectionError:
        return b""


def endless():
    while True:
        yield b"x" * 65536


def test_a_stream_lasts_beyond_the_deadline_of_pages():
    more = threading.Event()

    def stream():
        yield b"begun\n"
        more.wait(SETTLE_S)
        yield b"ended\n"

    with (
        serving(deadline_s=SOON_S, streams={"/events": stream}) as server,
        urlopen(f"{server.url}/events", timeout=SETTLE_S) as answer,
    ):
        assert answer.readline() == b"begun\n"
        with connect(server) as idle:  # which sends nothing and is closed at its deadline
            assert rest_of(idle) == b""
        more.set()
        assert answer.readline() == b"ended\n"


def test_who_does_not_read_a_stream_is_cut():
    with serving(deadline_s=SOON_S, streams={"/events": endless}) as server, connect(server) as deaf:
        deaf.sendall(b"GET /events HTTP/1.0\r\n\r\n")
        assert deaf.recv(1) == b"H"  # it has begun
        await_until(lambda: not handlers())


def test_streams_leave_room_for_pages():
    done = threading.Event()

    def stream():
        yield b"begun\n"
        done.wait(SETTLE_S)

    with serving(streams={"/events": stream}) as server, contextlib.ExitStack() as stack:
        for _ in range(MAX_STREAMS):
            answer = stack.enter_context(urlopen(f"{server.url}/events", timeout=SETTLE_S))
            assert answer.readline() == b"begun\n"
        with pytest.raises(HTTPError) as caught:
            urlopen(f"{server.url}/events", timeout=SETTLE_S)
        assert (caught.value.code, codes_of(caught.value)) == (503, ["http-streams-exhausted"])
        with urlopen(f"{server.url}/ok", timeout=SETTLE_S) as page:
            assert page.status == 200
        done.set()


def test_a_guard_is_asked_before_every_answer():
    def guard(path, header, peer):
        if header("X-Known") != "yes":
            raise HttpStatusError(
                HTTPStatus.UNAUTHORIZED, f"forbidden-{peer}", {"WWW-Authenticate": "Basic"}, path=path
            )

    with serving(guard=guard, headers={"X-Always": "sent"}, streams={"/events": endless}) as server:
        for path in ("/ok", "/none", "/events"):
            with pytest.raises(HTTPError) as caught:
                urlopen(f"{server.url}{path}", timeout=SETTLE_S)
            with caught.value as refusal:
                assert (refusal.code, refusal.headers["WWW-Authenticate"]) == (401, "Basic")
                assert refusal.headers["X-Always"] == "sent"
                (error,) = json.load(refusal)["errors"]
                assert (error["code"], error["fields"]) == ("forbidden-127.0.0.1", {"path": path})
        with urlopen(Request(f"{server.url}/ok", headers={"X-Known": "yes"}), timeout=SETTLE_S) as page:
            assert page.headers["X-Always"] == "sent"
