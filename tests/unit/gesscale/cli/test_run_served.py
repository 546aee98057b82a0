"""``gesscale run --listen``: metrics, probes, API and page of a loop outside Kubernetes, and its log."""

import json
import re
import socket
from urllib.request import urlopen

import pytest
from refusals import codes

from testbed.free_port import free_port

SETTLE_S = 60  # bound of a wait, not an expectation
QUICK = ("--set", "monitor.period=1s")


@pytest.fixture
def port():
    return free_port()


def fetch(url):
    with urlopen(url, timeout=SETTLE_S) as answer:
        return answer.read().decode()


def test_the_first_step_runs_immediately_and_everything_is_served(gesscale, site, port):
    found = {}
    url = f"http://127.0.0.1:{port}"

    def look():  # while the second step is being made, so that the first one is told
        found["count"] = found.get("count", 0) + 1
        if found["count"] == 2:
            for path in ("/metrics", "/healthz", "/api/run", "/api/points?workflow=workflow", "/"):
                found[path] = fetch(f"{url}{path}")

    site.serve_overload(look)
    code, _, err = gesscale("run", "-c", site.config, "--steps", 2, "--listen", port, *QUICK)
    assert code == 0
    assert f"url={url}\n" in err
    assert "WARNING" not in err
    # 500 rows/s are offered, and mid is the nearest free node; see `serve_overload`.
    assert 'gesscale_decisions_total{namespace="",operator="op",reason="Overloaded"' in found["/metrics"]
    assert 'gesscale_replicas{kind="running",namespace="",operator="op",workflow="workflow"} 2.0' in found["/metrics"]
    assert found["/healthz"] == "alive\n"
    assert json.loads(found["/api/run"])["workflows"][0]["operators"][0]["name"] == "op"
    (point,) = json.loads(found["/api/points?workflow=workflow"])["points"]
    assert (point["state"], point["add"], point["outcome"]) == ("lagging", ["mid"], "NotAllowed")
    assert found["/"].startswith("<!doctype html>")


def test_a_port_that_is_taken_is_refused(gesscale, site):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, _, err = gesscale("run", "-c", site.config, "--steps", 1, "--listen", port)
    assert (code, codes(err)) == (2, ["listen-address-unavailable"])
    assert str(port) in err


def test_a_token_requires_listen_and_a_private_file(gesscale, site, tmp_path):
    file = tmp_path / "token"
    file.write_text("0123456789abcdef")
    file.chmod(0o644)
    code, _, err = gesscale("run", "-c", site.config, "--token-file", file)
    assert (code, codes(err)) == (2, ["usage-option-required"])
    code, _, err = gesscale("run", "-c", site.config, "--listen", "0", "--token-file", file)
    assert (code, codes(err)[-1]) == (2, "token-file-exposed")


def test_a_line_of_the_log_can_be_json(gesscale, site):
    site.serve_overload()
    code, _, err = gesscale("run", "-c", site.config, "--steps", 1, "--log-format", "json", *QUICK)
    lines = [json.loads(line) for line in err.splitlines()]
    assert code == 0
    assert [sorted(line) for line in lines] == [["at", "level", "logger", "message"]] * len(lines)
    assert lines[-1]["message"] == "stopped after 1 steps"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", lines[-1]["at"])
