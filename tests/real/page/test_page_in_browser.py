"""The page in Debian's Chromium: every view, live and recorded, small and wide, with what may go wrong."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import NEEDS_CHROMIUM, contrast, open_chromium, pairs_of_colours, see
from edge import NODES, operator, workflow
from page_world import EVIL, ServedJournal, growing, served, step_of
from recorded_steps import T0_S, decided
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from gesscale.decision import Reason, Verdict
from gesscale.ports import Node
from gesscale.service.assets import build_number, page_html
from gesscale.service.recorded import write_page

RECORD = Path(__file__).parents[2] / "data" / "records" / "day_of_gesscale"
PHONE, DESKTOP = 360, 1400
SETTLE_S = 60  # bound of a wait, not an expectation
TITLES = {
    "workflow": "Workflow",
    "operator": "op",
    "nodes": "Nodes",
    "decisions": "Decisions",
    "health": "Health",
}
TEXTS = "h1, h2, h3, p, a, b, dt, dd, th, td, caption, label, li, summary, text, span, button, select, output"

pytestmark = [pytest.mark.real, NEEDS_CHROMIUM]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with open_chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


@pytest.fixture
def world() -> Iterator[ServedJournal]:
    """A scaler that has quietly stepped twice, and then added a replica."""
    with served() as made:
        made.add(step_of(at_s=T0_S - 20))
        made.add(step_of(at_s=T0_S - 10))
        made.add(step_of({"op": growing(T0_S)}, nodes=nodes_of_which_edge_is_not_ready()))
        yield made


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("record") / "page.html"
    write_page(RECORD, file)
    return file.as_uri()


def nodes_of_which_edge_is_not_ready() -> dict[str, Node]:
    ready = {name: Node(name=name) for name in NODES}
    return {**ready, "edge": Node(name="edge", problem="the kubelet is silent", reason=Reason.NOT_READY)}


def look(driver: webdriver.Chrome, address: str, width: int = DESKTOP, colours: str = "light") -> None:
    """Open an address anew, and wait until its view is drawn."""
    see(driver, width, colours)
    driver.get("about:blank")
    driver.get_log("browser")
    driver.get(address)
    until(driver, "main h1")


def until(driver: webdriver.Chrome, selector: str, text: str = "") -> None:
    """Wait until an element of the page, which may be drawn again meanwhile, is there and says something."""
    found = "return [...document.querySelectorAll(arguments[0])].some(each => each.textContent.includes(arguments[1]))"
    WebDriverWait(driver, SETTLE_S).until(lambda _: driver.execute_script(found, selector, text))


def click(driver: webdriver.Chrome, by: str, what: str) -> None:
    """Click an element, which may be drawn again just now."""
    WebDriverWait(driver, SETTLE_S, ignored_exceptions=[StaleElementReferenceException]).until(
        lambda _: driver.find_element(by, what).click() or True
    )


def press(driver: webdriver.Chrome, by: str, what: str, *keys: str) -> None:
    """Press keys on an element, which may be drawn again just now."""
    WebDriverWait(driver, SETTLE_S, ignored_exceptions=[StaleElementReferenceException]).until(
        lambda _: driver.find_element(by, what).send_keys(*keys) or True
    )


def choose(driver: webdriver.Chrome, selector: str, value: str) -> None:
    """Choose from a list, which may be drawn again just now."""
    WebDriverWait(driver, SETTLE_S, ignored_exceptions=[StaleElementReferenceException]).until(
        lambda _: Select(driver.find_element(By.CSS_SELECTOR, selector)).select_by_value(value) or True
    )


def focused(driver: webdriver.Chrome, attribute: str) -> str:
    """Return what the element with the focus says, by the name of a JavaScript attribute."""
    return driver.execute_script("return document.activeElement[arguments[0]]", attribute)


def last_instant(driver: webdriver.Chrome) -> int:
    """Return the number of the newest step, from 0."""
    return int(driver.find_element(By.ID, "instant").get_attribute("max"))


def show_again(driver: webdriver.Chrome) -> None:
    """Bring a page to the front that froze in the background, by way of another tab."""
    page = driver.current_window_handle
    driver.switch_to.new_window("tab")
    driver.close()
    driver.switch_to.window(page)


def cut_off(driver: webdriver.Chrome, is_off: bool) -> None:
    conditions = {"offline": is_off, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)


def said(driver: webdriver.Chrome, selector: str = "main") -> str:
    return driver.execute_script("return document.querySelector(arguments[0]).innerText", selector)


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("view", TITLES)
def test_each_view_fits_its_window_and_can_be_read(chromium, world, view, width, colours):
    look(chromium, f"{world.url}/#/{view}", width, colours)
    assert said(chromium, "main h1").startswith(TITLES[view])
    assert chromium.execute_script("return document.documentElement.scrollWidth") <= width
    too_weak = {
        pair: where for pair, where in pairs_of_colours(chromium, TEXTS).items() if contrast(pair) < 4.5
    }
    assert too_weak == {}  # WCAG 2.1, 1.4.3 (AA)
    assert chromium.get_log("browser") == []  # no error, and nothing that the policy for content had to stop


def test_a_step_is_seen_without_loading_the_page_again(chromium, world):
    look(chromium, f"{world.url}/#/operator")
    world.add(
        step_of({"op": decided(T0_S + 10, placement=("hub", "mid", "near"), detail="three are enough")})
    )
    until(chromium, "main .lead", "three are enough")


def test_the_page_survives_a_restart_of_the_scaler(chromium, world):
    look(chromium, f"{world.url}/#/health")
    until(chromium, ".connection", "live")
    world.stop()
    until(chromium, ".connection", "not connected")
    until(chromium, "main", "The scaler does not answer")
    world.start()
    until(chromium, ".connection", "live")
    world.add(step_of({"op": decided(T0_S + 10, detail="back again")}))
    until(chromium, "#time output", ":10")


def test_a_page_that_slept_has_every_step_that_it_missed(chromium, world):
    look(chromium, f"{world.url}/#/operator")
    until(chromium, "#time output", ":00:00")
    chromium.execute_cdp_cmd("Page.setWebLifecycleState", {"state": "frozen"})  # as on a laptop that is shut
    for missed in range(1, 8):
        world.add(step_of({"op": decided(T0_S + 10 * missed)}))
    chromium.execute_cdp_cmd("Page.setWebLifecycleState", {"state": "active"})
    show_again(chromium)
    until(chromium, "#time output", ":01:10")
    assert last_instant(chromium) == 2 + 7  # from 0: three steps before, seven meanwhile


def test_a_page_without_network_has_every_step_that_it_missed(chromium, world):
    look(chromium, f"{world.url}/#/operator")
    until(chromium, ".connection", "live")
    chromium.execute_cdp_cmd("Network.enable", {})
    cut_off(chromium, True)
    try:
        world.stop()  # what is open is cut: a laptop in another network
        world.start()
        until(chromium, ".connection", "not connected")
        for missed in range(1, 6):
            world.add(step_of({"op": decided(T0_S + 10 * missed)}))
        assert last_instant(chromium) == 2
    finally:
        cut_off(chromium, False)
    until(chromium, ".connection", "live")
    until(chromium, "#time output", ":00:50")
    assert last_instant(chromium) == 2 + 5


def test_a_run_that_answers_late_is_not_taken_for_one_without_workflows(chromium, world):
    world.run_may_answer.clear()
    see(chromium, DESKTOP, "light")
    chromium.get(f"{world.url}/#/nodes")
    until(chromium, "main", "The run is being fetched")
    time.sleep(1)  # long enough for the first event, which needs no run, to be drawn
    assert not chromium.find_elements(By.CSS_SELECTOR, "main h1")
    world.run_may_answer.set()
    until(chromium, "main h1", "Nodes")


def test_a_page_of_another_version_says_so_and_is_loaded_again_by_a_click(chromium, world):
    world.html = page_html().replace(build_number().encode(), b"0123456789ab")
    look(chromium, f"{world.url}/")
    until(chromium, "header .problem", "this page is of another version")
    world.html = page_html()
    click(chromium, By.CSS_SELECTOR, "header .problem button")
    WebDriverWait(chromium, SETTLE_S).until(
        lambda driver: not driver.find_elements(By.CSS_SELECTOR, "header .problem")
    )
    until(chromium, ".connection", "live")


def test_a_decision_is_understood_in_three_clicks(chromium, world):
    look(chromium, f"{world.url}/")
    click(chromium, By.LINK_TEXT, "Decisions")
    until(chromium, ".timeline", "+mid")
    click(chromium, By.PARTIAL_LINK_TEXT, "+mid")
    until(chromium, ".aside", "Candidates that lost")
    text = said(chromium, ".aside")
    assert "347 rows/s are expected, 2 replicas do 196" in text
    assert "NDmax 200 ms, MST 700 rows/s; now 640" in text
    bills = chromium.find_elements(By.CSS_SELECTOR, ".aside table:first-of-type tr.chosen")
    assert bills[0].text.split() == ["3", "105", "least", "101", "0.3", "1.2"]
    choose(chromium, ".aside select", "edge")
    until(chromium, ".aside .why", "NoRoom")
    assert "512 MiB are free" in said(chromium, ".aside [aria-live]")


def test_why_not_is_answered_for_a_node_and_for_a_moment_without_a_change(chromium, world):
    look(chromium, f"{world.url}/#/nodes?node=edge&at={T0_S - 10}")
    until(chromium, ".aside .why", "NotReady")
    assert "the kubelet is silent" in said(chromium, ".aside")
    look(chromium, f"{world.url}/#/nodes?node=far&at={T0_S - 10}")
    until(chromium, ".aside .why", "not needed")
    assert "WithinTarget" in said(chromium, ".aside")


def test_what_is_looked_at_stands_in_the_address_and_the_back_button_works(chromium, world):
    look(chromium, f"{world.url}/")
    click(chromium, By.LINK_TEXT, "op")
    until(chromium, "main h1", "op")
    click(chromium, By.LINK_TEXT, "Nodes")
    until(chromium, "main h1", "Nodes")
    click(chromium, By.LINK_TEXT, "Heat map")
    until(chromium, ".matrix caption", "Round trips")
    assert chromium.current_url.endswith("#/nodes?workflow=workflow&operator=op&as=heat")
    chromium.back()
    until(chromium, "figcaption", "The nearer two nodes stand")
    chromium.back()
    until(chromium, "main h2", "Over time")


def test_the_keyboard_reaches_views_and_time(chromium, world):
    look(chromium, f"{world.url}/")
    until(chromium, "#time output", ":00:00")
    press(chromium, By.LINK_TEXT, "Operator", Keys.ENTER)
    until(chromium, "main h1", "op")
    assert focused(chromium, "textContent") == "Operator"  # drawn again, and still where the reader is
    press(chromium, By.ID, "instant", Keys.ARROW_LEFT)
    until(chromium, "main .lead", "WithinTarget")
    assert f"at={T0_S - 10:.0f}" in chromium.current_url
    landmarks = chromium.find_elements(By.CSS_SELECTOR, "header, nav[aria-label], main, footer")
    assert [each.tag_name for each in landmarks] == ["header", "nav", "main", "footer"]


def test_markup_in_names_and_reasons_is_text(chromium):
    name = EVIL + "x" * 200
    with served() as world:
        world.add(step_of({name: growing(T0_S, detail=f"because of {EVIL}")}))
        for view in TITLES:
            look(chromium, f"{world.url}/#/{view}", PHONE)
            until(chromium, "main", EVIL if view in {"workflow", "decisions"} else "")
            assert chromium.find_elements(By.CSS_SELECTOR, "img, main script") == []
            assert chromium.execute_script("return document.documentElement.scrollWidth") <= PHONE
            assert chromium.get_log("browser") == []


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_a_fleet_of_two_hundred_workflows_is_searched_and_shows_the_worst_first(chromium, width):
    with served() as world:
        for number in range(200):
            names = [f"op-{number:03d}-{each}" for each in range(5)]
            steps = {each: decided(T0_S) for each in names}
            if number == 70:
                steps[names[3]] = growing(T0_S)
            if number == 71:
                steps[names[4]] = decided(
                    T0_S, reason=Reason.METRICS_STALE, verdict=Verdict.UNKNOWN, seen=False
                )
            of = workflow(*(operator(each) for each in names))
            world.add(step_of(steps, name=f"streams/w{number:03d}", of=of))
        look(chromium, f"{world.url}/", width)
        until(chromium, "main h1", "200 workflows")
        until(chromium, ".counts", "998 waiting")
        assert worst(chromium) == ["streams/w070: op-070-3", "streams/w071: op-071-4"]
        assert len(chromium.find_elements(By.CSS_SELECTOR, "main tbody th")) == 200
        search_by_keyboard(chromium, "op-142-2", width)
        look(chromium, f"{world.url}/#/health", width)
        until(chromium, "main", "op-071-4: MetricsStale")
        until(chromium, "main caption", "The 100 of 200 whose step is oldest")
        assert chromium.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_a_workflow_of_a_thousand_operators_is_searched_and_shows_the_worst_first(chromium, width):
    names = [f"op-{number:03d}" for number in range(1000)]
    of = workflow(*(operator(name) for name in names))
    with served() as world:
        world.add(step_of({**{name: decided(T0_S) for name in names}, "op-707": growing(T0_S)}, of=of))
        look(chromium, f"{world.url}/", width)
        until(chromium, ".counts", "999 waiting")
        assert worst(chromium)[0] == "op-707"
        until(chromium, "main .note", "1,000 operators")  # in place of a graph
        search_by_keyboard(chromium, "op-142", width)


def worst(driver: webdriver.Chrome) -> list[str]:
    """Return the first two operators of the list."""
    rows = driver.find_elements(By.CSS_SELECTOR, "[aria-label='Operators, worst first'] tbody th")
    return [row.text for row in rows[:2]]


def search_by_keyboard(driver: webdriver.Chrome, name: str, width: int) -> None:
    """Show those of a state, then one operator, without a mouse."""
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    press(driver, By.CSS_SELECTOR, ".counts .lagging", Keys.ENTER)
    until(driver, "main caption", "1 of 1,000 operators")
    press(driver, By.CSS_SELECTOR, ".counts .lagging", Keys.ENTER)
    until(driver, "main caption", "1,000 operators")
    press(driver, By.CSS_SELECTOR, "input[type=search]", name)
    until(driver, "main caption", "1 of 1,000 operators")
    assert focused(driver, "value") == name
    press(driver, By.PARTIAL_LINK_TEXT, name, Keys.ENTER)
    until(driver, "main h1", name)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_right_that_is_missing_comes_with_what_to_do(chromium, world):
    world.problems = ("a right is missing: list pods in namespace taxi",)
    look(chromium, f"{world.url}/#/health")
    until(chromium, ".findings .bad", "list pods in namespace taxi")
    until(chromium, ".findings .todo", "kubectl apply -k deploy/k3s")
    until(chromium, "nav .ills", "1")
    until(chromium, "main td", "measured 30")  # the age of the latency map
    until(chromium, "main td", "newest batch")  # and of the metrics


def test_nothing_yet_says_what_to_do(chromium):
    with served() as world:
        look(chromium, f"{world.url}/")
        until(chromium, "main .empty", "No step has been taken")


def test_a_record_is_one_file_that_asks_for_nothing_and_goes_through_its_time(chromium, recorded):
    chromium.get_log("performance")
    look(chromium, f"{recorded}#/operator")
    until(chromium, ".connection", "recorded run")
    messages = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    asked = {
        message["params"]["request"]["url"].partition("#")[0]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    }
    assert {each for each in asked if not each.startswith(("data:", "about:"))} == {recorded}
    assert chromium.get_log("browser") == []
    assert "AtMinReplicas" in said(chromium, "main .lead")  # the last decision of that day
    # Its last change is the last replica but one that goes; the one before it takes edge3.
    for _ in range(2):
        click(chromium, By.CSS_SELECTOR, "#time button[aria-label='the change before']")
    until(chromium, "main .lead", "Underused")
    click(chromium, By.LINK_TEXT, "Why?")
    until(chromium, ".timeline a[aria-current=true]", "−edge3")


def test_a_click_on_a_chart_goes_there_in_time(chromium, recorded):
    look(chromium, f"{recorded}#/operator")
    until(chromium, ".charts", "Backlog")
    charts = chromium.find_element(By.CSS_SELECTOR, ".charts")
    webdriver.ActionChains(chromium).move_to_element(charts).click().perform()
    until(chromium, "#time output", " s")
    # The middle of 258 s, on a step that is at most 14 s away from it.
    assert 115 <= int(said(chromium, "#time output").split(", ")[1].split()[0]) <= 150
