"""The page and its API over HTTP."""

import json
import socket
import threading
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
from page_world import EVIL, growing, served, step_of
from recorded_steps import T0_S, decided

from gesscale.common.errors import Problem
from gesscale.service.access import Access
from gesscale.service.assets import build_number, page_html, page_script, page_style

SETTLE_S = 60  # bound of a wait, not an expectation


@pytest.fixture
def world():
    with served() as made:
        made.add(step_of({"op": growing(T0_S), EVIL: decided(T0_S)}))
        yield made


def ask(url):
    with urlopen(url, timeout=SETTLE_S) as answer:
        return json.load(answer)


def test_api_run_has_workflows_and_problems(world):
    world.problems = (Problem("loop-stuck", {"age": "5 min", "period": "10 s"}),)
    run = ask(f"{world.url}/api/run")
    assert (run["apiVersion"], run["build"]) == ("gesscale.dev/v1", build_number())
    assert ([each["code"] for each in run["problems"]], run["now_s"]) == (["loop-stuck"], T0_S)
    (workflow,) = run["workflows"]
    assert [each["name"] for each in workflow["operators"]] == ["op", EVIL]
    assert workflow["operators"][0]["max_replicas"] == 5


def test_points_and_decisions_are_found_by_any_name(world):
    asked = f"workflow=workflow&operator={quote(EVIL)}"
    (point,) = ask(f"{world.url}/api/points?{asked}")["points"]
    assert point["operator"] == EVIL
    assert ask(f"{world.url}/api/decision?{asked}&at_s={T0_S}")["operator"] == EVIL
    assert ask(f"{world.url}/api/decision?{asked}&at_s=1") is None
    assert ask(f"{world.url}/api/nodes?workflow=workflow")["names"][:2] == ["hub", "mid"]
    assert ask(f"{world.url}/api/nodes?workflow=none") is None


@pytest.mark.parametrize(
    "path", ["/api/points", "/api/decision?workflow=w&operator=o&at_s=x", "/api/nodes?workflow=a&workflow=b"]
)
def test_invalid_requests_are_rejected(world, path):
    with pytest.raises(HTTPError) as caught:
        urlopen(f"{world.url}{path}", timeout=SETTLE_S)
    with caught.value as answer:
        assert (answer.code, len(answer.read()) > 10) == (400, True)


def test_every_answer_forbids_what_the_page_does_not_need(world):
    for path in ("/", "/page.js", "/api/run", "/healthz"):
        try:
            with urlopen(f"{world.url}{path}", timeout=SETTLE_S) as answer:
                headers = answer.headers
        except HTTPError as error:
            headers = error.headers
            error.close()
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"


def read_event(stream):
    name = stream.readline().decode().removeprefix("event: ").strip()
    data = json.loads(stream.readline().decode().removeprefix("data: "))
    stream.readline()
    return name, data


def test_twenty_pages_get_every_step_beside_one_that_never_reads(world):
    steps, streams = 3, 20
    host, port = world.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=SETTLE_S) as deaf:
        deaf.sendall(b"GET /api/events HTTP/1.0\r\nHost: localhost\r\n\r\n")
        found = [[] for _ in range(streams)]
        ready = threading.Barrier(streams + 1)

        def follow(kept):
            with urlopen(f"{world.url}/api/events", timeout=SETTLE_S) as stream:
                read_event(stream)
                ready.wait(SETTLE_S)
                while len(kept) < steps:
                    name, data = read_event(stream)
                    if name == "step":
                        kept.extend(each["at_s"] for each in data["points"])

        threads = [threading.Thread(target=follow, args=(kept,), daemon=True) for kept in found]
        for thread in threads:
            thread.start()
        ready.wait(SETTLE_S)
        for step in range(steps):
            world.add(step_of(at_s=T0_S + 10 * (step + 1)))
        for thread in threads:
            thread.join(SETTLE_S)
    assert found == [[T0_S + 10, T0_S + 20, T0_S + 30]] * streams


def test_a_token_is_asked_for():
    with served(Access(token="0123456789abcdef")) as world:  # noqa: S106 - of this test
        with pytest.raises(HTTPError) as caught:
            urlopen(world.url, timeout=SETTLE_S)
        with caught.value as answer:
            assert (answer.code, answer.headers["WWW-Authenticate"].split()[0]) == (401, "Basic")
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        known = Request(world.url, headers={"Authorization": "Bearer 0123456789abcdef"})
        with urlopen(known, timeout=SETTLE_S) as answer:
            assert answer.status == 200


def test_the_page_is_complete_and_uses_no_other_host():
    script, style, html = page_script().decode(), page_style().decode(), page_html().decode()
    assert [line for line in script.splitlines() if line.startswith(("import ", "export "))] == []
    for text in (script.replace("http://www.w3.org/2000/svg", ""), style, html):
        assert "://" not in text
    assert "innerHTML" not in script
    assert "<script>" not in html
    assert " style=" not in html
