"""Measures the memory of a page that stays open for a day: 24 hours of steps, sent as fast as Chromium accepts them.

Run ``PYTHONPATH=tests:. python benchmarks/page_memory.py [--hours 24]``; it needs chromium and chromium-driver.
Two scalers: one operator every 6 s, and a workflow of 20 operators every 60 s. The steps go through the journal, the
server and its stream of events, and the page draws every step that it can. It prints JSON: at each quarter of
the day, after a forced garbage collection, the MB of JavaScript's heap, the elements and the listeners of the
document; and the heap as a ratio to that after half a day, the baseline, when the history of the page
is full.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from browser import open_chromium, see
from page_world import ServedJournal, growing, served, step_of
from recorded_steps import T0_S, decided
from selenium import webdriver

from gesscale.service.journal import JournalStep

BURST = 60
"""Steps that are sent before the page must have drawn the newest one."""

MAX_WAIT_S = 120.0


def step(names: list[str], at_s: float, number: int) -> JournalStep:
    """Return a step; every tenth step changes an operator."""
    decisions = {name: decided(at_s) for name in names}
    if number % 10 == 0:
        decisions[names[0]] = growing(at_s)
    return step_of(decisions, at_s=at_s)


def figures(driver: webdriver.Chrome) -> dict[str, float]:
    driver.execute_cdp_cmd("HeapProfiler.enable", {})
    for _ in range(2):
        driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    counted = driver.execute_cdp_cmd("Memory.getDOMCounters", {})
    heap = driver.execute_cdp_cmd("Runtime.getHeapUsage", {})
    return {"heap_mb": heap["usedSize"] / 1e6, "elements": counted["nodes"], "listeners": counted["jsEventListeners"]}


def wait_until_drawn(driver: webdriver.Chrome, at_s: float) -> None:
    """Wait until the page shows the newest step; time zones of whole hours only."""
    wanted = time.strftime(":%M:%S", time.gmtime(at_s))
    deadline_s = time.monotonic() + MAX_WAIT_S
    while not driver.execute_script("return document.querySelector('#time output').textContent").endswith(wanted):
        assert time.monotonic() < deadline_s, f"the page did not draw the step that ends in {wanted}"
        time.sleep(0.02)


def day(driver: webdriver.Chrome, world: ServedJournal, operators: int, period_s: float, hours: float) -> dict:
    names = [f"op-{number:02d}" for number in range(operators)]
    steps = round(hours * 3600 / period_s)
    world.add(step(names, T0_S, 0))
    world.add(step(names, T0_S + period_s, 1))
    see(driver, 1400, "light")
    driver.get(f"{world.url}/#/operator")
    wait_until_drawn(driver, T0_S + period_s)
    quarters = [{"at_h": 0.0, **figures(driver)}]
    began_s = time.monotonic()
    for number in range(2, steps + 1):
        at_s = T0_S + number * period_s
        world.add(step(names, at_s, number))
        if number % BURST == 0 or number == steps:
            wait_until_drawn(driver, at_s)
        if number % (steps // 4) == 0:
            wait_until_drawn(driver, at_s)
            quarters.append({"at_h": number * period_s / 3600, **figures(driver)})
    base = quarters[2]["heap_mb"]
    return {
        "operators": operators,
        "period_s": period_s,
        "steps": steps,
        "took_s": round(time.monotonic() - began_s, 1),
        "quarters": [
            {key: round(value, 2) for key, value in {**each, "to_half_day": each["heap_mb"] / base}.items()}
            for each in quarters
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=24.0)
    hours = parser.parse_args().hours
    for operators, period_s in ((1, 6.0), (20, 60.0)):
        with tempfile.TemporaryDirectory() as profile, open_chromium(Path(profile)) as driver, served() as world:
            print(json.dumps(day(driver, world, operators, period_s, hours), indent=1), flush=True)


if __name__ == "__main__":
    main()
