"""What each view of the page says, in Debian's Chromium, small and wide."""

from dataclasses import replace

import pytest
from browser import NEEDS_CHROMIUM, contrast, pairs_of_colours
from edge import operator, workflow
from page_reader import DESKTOP, PHONE, TITLES, choose, click, focused, look, press, text_of, until
from page_world import DETAIL, growing, served, step_of
from recorded_steps import T0_S, decided
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from gesscale.common.errors import Problem
from gesscale.model.decision import Reason, Verdict
from gesscale.model.observation import RowAge

WIDTHS = "return [...document.querySelectorAll(arguments[0])].map(each => [each.clientWidth, each.scrollWidth])"
TEXTS_OF = "return [...document.querySelectorAll(arguments[0])].map(each => each.innerText)"
TEXTS = "h1, h2, h3, p, a, b, dt, dd, th, td, caption, label, li, summary, text, span, button, select, output"

pytestmark = [pytest.mark.real, NEEDS_CHROMIUM]


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("view", TITLES)
def test_each_view_fits_its_window_and_can_be_read(chromium, world, view, width, colours):
    look(chromium, f"{world.url}/#/{view}", width, colours)
    assert text_of(chromium, "main h1").startswith(TITLES[view])
    assert chromium.execute_script("return document.documentElement.scrollWidth") <= width
    too_weak = {pair: where for pair, where in pairs_of_colours(chromium, TEXTS).items() if contrast(pair) < 4.5}
    assert too_weak == {}  # WCAG 2.1, 1.4.3 (AA)
    assert chromium.get_log("browser") == []  # no error, and nothing that the policy for content had to stop


def test_a_decision_is_understood_in_three_clicks(chromium, world):
    look(chromium, f"{world.url}/")
    click(chromium, By.LINK_TEXT, "Decisions")
    until(chromium, ".timeline", "+mid")
    click(chromium, By.PARTIAL_LINK_TEXT, "+mid")
    until(chromium, ".aside", "Rejected candidates")
    text = text_of(chromium, ".aside")
    assert DETAIL in text
    assert "NDmax 200 ms, MST 700 rows/s; now 640" in text
    # replicas, capacity, at least, wait, late
    assert text_of(chromium, ".aside table:first-of-type tr.chosen").split() == ["3", "940", "900", "0", "0"]
    choose(chromium, ".aside select", "edge")
    until(chromium, ".aside .why", "NoRoom")
    assert "512 MiB are free" in text_of(chromium, ".aside [aria-live]")


def test_why_not_is_answered_for_a_node_and_for_a_moment_without_a_change(chromium, world):
    look(chromium, f"{world.url}/#/nodes?node=edge&at={T0_S - 20}")
    until(chromium, ".aside .why", "NotReady")  # as the decision of that moment says
    assert "the kubelet was silent" in text_of(chromium, ".aside")
    for node in ("edge", "far"):  # edge was ready by then, far not cordoned yet
        look(chromium, f"{world.url}/#/nodes?node={node}&at={T0_S - 10}")
        until(chromium, ".aside .why", "not needed")
        assert "The present replicas are right: all is well." in text_of(chromium, ".aside")
    look(chromium, f"{world.url}/#/nodes")
    until(chromium, ".aside tbody tr", "✕ ineligible")
    assert "far\t200\t✕ ineligible" in text_of(chromium, ".aside table")


def test_the_operator_has_both_laws_with_intervals_and_errors(chromium, world):
    look(chromium, f"{world.url}/#/operator")
    until(chromium, "[aria-label=Model] p", "batch-time decides. It is fitted.")
    eq1, batch_time = chromium.execute_script(TEXTS_OF, "[aria-label=Model] table")
    assert "held-out error 9 %" in eq1
    assert "1,800 to 2,200" in eq1
    assert "in use: held-out error 4 % over 3 placements" in batch_time
    assert "4.8 to 5.2" in batch_time  # ms
    assert "not identified" in batch_time


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_a_workflow_with_a_branch_is_seen_whole(chromium, width):
    branches = (operator("left", upstream=("source",)), operator("right", upstream=("source",)))
    of = workflow(operator("source"), *branches, operator("sink", upstream=("left", "right")))
    with served() as world:
        world.add(step_of({name: decided(T0_S) for name in ("source", "left", "right", "sink")}, of=of))
        look(chromium, f"{world.url}/", width)
        until(chromium, ".card .name", "right")
        assert len(chromium.find_elements(By.CSS_SELECTOR, ".edge")) == 4
        assert all(seen >= whole for seen, whole in chromium.execute_script(WIDTHS, ".graph"))


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_a_fleet_of_two_hundred_workflows_is_searched_and_shows_the_worst_first(chromium, width):
    with served() as world:
        for number in range(200):
            names = [f"op-{number:03d}-{each}" for each in range(5)]
            steps = {each: decided(T0_S) for each in names}
            if number == 70:
                steps[names[3]] = growing(T0_S)
            if number == 71:
                steps[names[4]] = decided(T0_S, reason=Reason.METRICS_STALE, verdict=Verdict.UNKNOWN, seen=False)
            of = workflow(*(operator(each) for each in names))
            world.add(step_of(steps, name=f"streams/w{number:03d}", of=of))
        look(chromium, f"{world.url}/", width)
        until(chromium, "main h1", "200 workflows")
        until(chromium, ".counts", "998 steady")
        assert worst(chromium) == ["streams/w070: op-070-3", "streams/w071: op-071-4"]
        assert len(chromium.find_elements(By.CSS_SELECTOR, "main tbody th")) == 200
        search_by_keyboard(chromium, "op-142-2", width)
        look(chromium, f"{world.url}/#/health", width)
        until(chromium, "main", "op-071-4: MetricsStale")
        until(chromium, "main caption", "The 100 oldest of 200")
        assert chromium.execute_script("return document.documentElement.scrollWidth") <= width


def worst(driver: webdriver.Chrome) -> list[str]:
    """Return the first two operators of the list, which may be drawn again at any time: in one look."""
    return driver.execute_script(TEXTS_OF, "[aria-label='Operators, worst first'] tbody th")[:2]


def search_by_keyboard(driver: webdriver.Chrome, name: str, width: int) -> None:
    """Show those of a state, then one operator, without a mouse."""
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    press(driver, By.CSS_SELECTOR, ".counts .lagging", Keys.ENTER)
    until(driver, "main caption", "1 of 1,000 operators")
    press(driver, By.CSS_SELECTOR, ".counts .lagging", Keys.ENTER)
    until(driver, "main caption", "1,000 operators", is_whole=True)
    press(driver, By.CSS_SELECTOR, "input[type=search]", name)
    until(driver, "main caption", "1 of 1,000 operators")
    assert focused(driver, "value") == name
    press(driver, By.PARTIAL_LINK_TEXT, name, Keys.ENTER)
    until(driver, "main h1", name)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_right_that_is_missing_comes_with_what_to_do(chromium, world):
    world.problems = (Problem("kubernetes-forbidden", {"right": "list pods", "status": 403, "cause": "taxi"}),)
    look(chromium, f"{world.url}/#/health")
    until(chromium, ".findings .bad", "list pods")
    until(chromium, ".findings .todo", "kubectl apply -k deploy/k3s")
    until(chromium, "nav .ills", "1")
    until(chromium, "main td", "measured 30")  # the age of the latency map
    until(chromium, "main td", "newest batch")  # and of the metrics


def test_late_rows_are_a_finding_and_have_a_chart(chromium, world):
    late = RowAge(objective_s=60.0, seconds=75.0, late_s=15.0)
    world.add(step_of({"op": replace(decided(T0_S + 10), row_age=late)}, at_s=T0_S + 10))
    look(chromium, f"{world.url}/#/health")
    until(chromium, ".findings .bad", "75\u00a0s of 60\u00a0s")
    look(chromium, f"{world.url}/#/operator")
    until(chromium, ".facts", "75\u00a0s of 60\u00a0s")
    assert chromium.execute_script("return document.querySelectorAll('svg[aria-label^=Oldest]').length") == 1
    assert chromium.get_log("browser") == []
