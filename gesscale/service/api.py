"""The page, its API and its event stream by path; all are read-only. `documents` defines the JSON."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version

from gesscale.common import API_VERSION
from gesscale.common.errors import InvalidValueError, Problem
from gesscale.common.http_server import Guard, Page, PageServer, Stream, json_body
from gesscale.errors import InputError
from gesscale.service.access import HEADERS
from gesscale.service.assets import build_number, page_html, page_script, page_style
from gesscale.service.documents import Head, problem_document
from gesscale.service.journal import Journal

#: Seconds between two events at least, so that each end detects when the other has gone.
ALIVE_S = 15.0


def serve(
    host: str,
    port: int,
    pages: Mapping[str, Page],
    *,
    journal: Journal,
    problems: Callable[[], tuple[Problem, ...]],
    guard: Guard,
) -> PageServer:
    """Serve the page, its API and other pages, such as probes and metrics, until closed.

    Raises
    ------
    InputError
        If the address is not available.
    """
    try:
        return PageServer(
            host,
            port,
            {**pages, **pages_of(journal, problems, time.time)},
            streams=streams_of(journal, problems, time.time),
            headers=HEADERS,
            guard=guard,
        )
    except (OSError, OverflowError) as error:
        raise InputError("listen-address-unavailable", host=host, port=port, cause=str(error)) from error


def pages_of(
    journal: Journal, problems: Callable[[], tuple[Problem, ...]], now_s: Callable[[], float]
) -> dict[str, Page]:
    """Return the page and its API."""

    def run(_parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        return json_body({**_head(problems(), now_s()), "workflows": journal.workflows()})

    def points(parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        operator = _value(parameters, "operator") if "operator" in parameters else None
        found = ",".join(journal.points(_value(parameters, "workflow"), operator))
        return "application/json", f'{{"points":[{found}]}}'.encode()

    def decision(parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        names = _value(parameters, "workflow"), _value(parameters, "operator")
        found = journal.decision(*names, float(_value(parameters, "at_s")))
        return "application/json", found or b"null"

    def nodes(parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        return json_body(journal.nodes(_value(parameters, "workflow")))

    def record(parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        return json_body(journal.record(_value(parameters, "workflow")))

    return {
        "/": lambda _parameters: ("text/html; charset=utf-8", page_html()),
        "/page.css": lambda _parameters: ("text/css; charset=utf-8", page_style()),
        "/page.js": lambda _parameters: ("text/javascript; charset=utf-8", page_script()),
        "/api/run": run,
        "/api/points": points,
        "/api/decision": decision,
        "/api/nodes": nodes,
        "/api/record": record,
    }


def streams_of(
    journal: Journal, problems: Callable[[], tuple[Problem, ...]], now_s: Callable[[], float]
) -> dict[str, Stream]:
    """Return the stream of steps; the parameters are those of `pages_of`."""

    def steps() -> Iterator[bytes]:
        number = journal.number
        yield _event("alive", _head(problems(), now_s()))
        while True:
            after, (number, found) = number, journal.news(number, ALIVE_S)
            for workflow, listed in found.items() if number != after else ():
                text = f'{{"workflow":{json.dumps(workflow)},"points":[{",".join(listed)}]}}'
                yield f"event: step\ndata: {text}\n\n".encode()
            yield _event("alive", _head(problems(), now_s()))

    return {"/api/events": steps}


def _head(problems: tuple[Problem, ...], now_s: float) -> Head:
    return {
        "apiVersion": API_VERSION,
        "version": version("gesscale"),
        "build": build_number(),
        "now_s": now_s,
        "problems": [problem_document(each) for each in problems],
    }


def _event(name: str, document: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(document)}\n\n".encode()


def _value(parameters: Mapping[str, list[str]], name: str) -> str:
    if len(values := parameters.get(name, [])) != 1:
        raise InvalidValueError("parameter-not-single", parameter=name, count=len(values))
    return values[0]
