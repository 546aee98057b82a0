"""Measures the page: bytes on the wire, first paint, the time to draw a fleet, and the scaler's memory.

Run ``PYTHONPATH=tests:. python benchmarks/page_views.py``; it needs Debian's chromium and chromium-driver. It prints
JSON. Baselines, in the same run: an empty document from the same server for the first paint; the page of one operator
for the time to draw the list of 1,000 operators, in one workflow and in 200; for memory, the process that has served
one step, compared with its full history and twenty connected pages.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from urllib.request import urlopen

from browser import open_chromium, see
from edge import operator, workflow
from footprint.resident import resident_mib
from page_world import ServedJournal, growing, served, step_of
from recorded_steps import T0_S, decided
from selenium import webdriver

RUNS = 7
STEPS = 6000
"""More than the capacity of the journal."""

DRAWN_MS = """
const done = arguments[0];
const began = performance.now();
dispatchEvent(new Event("resize"));
requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
"""
PAINTED_MS = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
FILES = ("", "page.css", "page.js")


def bytes_on_the_wire(world: ServedJournal) -> dict[str, int]:
    sizes = {name or "page": len(urlopen(f"{world.url}/{name}", timeout=30).read()) for name in FILES}
    return {**sizes, "all": sum(sizes.values())}


def spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def painted_ms(driver: webdriver.Chrome, url: str) -> float:
    driver.get("about:blank")
    driver.get(url)
    while (found := driver.execute_script(PAINTED_MS)) is None:
        pass
    return float(found)


def drawn_ms(driver: webdriver.Chrome, world: ServedJournal) -> dict[str, float]:
    driver.get("about:blank")
    driver.get(f"{world.url}/#/workflow")
    while not driver.execute_script("return document.querySelectorAll('main tbody tr').length"):
        pass
    driver.execute_async_script(DRAWN_MS)
    return spread([driver.execute_async_script(DRAWN_MS) for _ in range(RUNS)])


def one_workflow(world: ServedJournal, operators: int) -> None:
    names = [f"op-{number:04d}" for number in range(operators)]
    of = workflow(*(operator(name) for name in names))
    world.add(step_of({name: decided(T0_S) for name in names}, of=of))


def workflows(world: ServedJournal, count: int, operators: int) -> None:
    for number in range(count):
        names = [f"op-{number:03d}-{each}" for each in range(operators)]
        of = workflow(*(operator(name) for name in names))
        world.add(step_of({name: decided(T0_S) for name in names}, of=of, name=f"streams/w{number:03d}"))


def pages() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as profile, open_chromium(Path(profile)) as driver:
        see(driver, 1400, "light")
        with served() as world:
            one_workflow(world, 1)
            found: dict[str, object] = {"bytes": bytes_on_the_wire(world)}
            paints = [painted_ms(driver, f"{world.url}/#/workflow") for _ in range(RUNS)]
            world.html = b"<!doctype html><title>empty</title><p>empty</p>"
            empty = [painted_ms(driver, f"{world.url}/") for _ in range(RUNS)]
            found["first_paint_ms"] = {"page": spread(paints), "empty document": spread(empty)}
        drawn = {}
        for name, make in (
            ("one operator", lambda world: one_workflow(world, 1)),
            ("1,000 operators, one workflow", lambda world: one_workflow(world, 1000)),
            ("1,000 operators, 200 workflows", lambda world: workflows(world, 200, 5)),
        ):
            with served() as world:
                make(world)
                drawn[name] = drawn_ms(driver, world)
        base = drawn["one operator"]["median"]
        found["draw_ms"] = {name: {**each, "to_one_operator": each["median"] / base} for name, each in drawn.items()}
    return found


def watch(url: str) -> None:
    """Follow a scaler as twenty pages do, until it ends or this process is ended."""

    def drain(stream: Iterable[bytes]) -> None:
        with contextlib.suppress(OSError):
            for _ in stream:
                pass

    streams = [urlopen(f"{url}/api/events", timeout=60) for _ in range(20)]
    for _ in streams:
        urlopen(f"{url}/api/points?workflow=workflow", timeout=60).read()
    print("all are open", flush=True)
    threads = [threading.Thread(target=drain, args=(stream,)) for stream in streams]
    for thread in threads:
        thread.start()


def memory() -> None:
    """Print the resident memory before and after; runs in a separate process."""
    with served() as world:
        world.add(step_of())
        urlopen(f"{world.url}/api/run", timeout=30).read()
        before = resident_mib(os.getpid())
        words = [sys.executable, __file__, "watch", world.url]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as watching:
            assert watching.stdout is not None
            watching.stdout.readline()
            for number in range(STEPS):
                world.add(step_of({"op": growing(T0_S + 6 * number)}))
            after = resident_mib(os.getpid())
            watching.kill()
    print(json.dumps({"one step": before, "full, twenty pages": after, "more": after - before}))


def main() -> None:
    match sys.argv[1:]:
        case ["memory"]:
            memory()
            return
        case ["watch", url]:
            watch(url)
            return
    words = [sys.executable, __file__, "memory"]
    output = subprocess.run(words, capture_output=True, check=True, text=True, timeout=600).stdout
    found = {**pages(), "resident_mib": json.loads(output)}
    print(json.dumps(found, indent=1, default=str))


if __name__ == "__main__":
    main()
