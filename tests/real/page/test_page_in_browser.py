"""The page in Debian's Chromium: live and recorded, with what may go wrong."""

import json

import pytest
from browser import NEEDS_CHROMIUM
from page_reader import PHONE, TITLES, click, cut_off, focused, last_instant, look, press, text_of, until, until_step
from page_world import EVIL, growing, served, step_of
from recorded_steps import T0_S, decided
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = [pytest.mark.real, NEEDS_CHROMIUM]


def test_a_step_is_seen_without_loading_the_page_again(chromium, world):
    look(chromium, f"{world.url}/#/operator")
    world.add(step_of({"op": decided(T0_S + 10, placement=("hub", "mid", "near"), detail="three are enough")}))
    until(chromium, "main .lead", "three are enough")


def test_the_page_survives_a_restart_of_the_scaler(chromium, world):
    look(chromium, f"{world.url}/#/health")
    until(chromium, ".connection", "live")
    world.stop()
    until(chromium, ".connection", "not connected")
    until(chromium, "main", "The scaler does not respond")
    world.start()
    until(chromium, ".connection", "live")
    world.add(step_of({"op": decided(T0_S + 10, detail="back again")}))
    until(chromium, "#time output", ":10")


def test_a_page_without_network_has_every_step_that_it_missed(chromium, world):
    look(chromium, f"{world.url}/#/operator")
    until(chromium, ".connection", "live")
    until_step(chromium, 2)
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
    until_step(chromium, 2 + 5)
    assert last_instant(chromium) == 2 + 5


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
    until(chromium, "figcaption", "Nearer nodes have")
    chromium.back()
    until(chromium, "main h2", "Over time")


def test_the_keyboard_reaches_views_and_time(chromium, world):
    look(chromium, f"{world.url}/")
    until(chromium, "#time output", ":00:00")
    press(chromium, By.LINK_TEXT, "Operator", Keys.ENTER)
    until(chromium, "main h1", "op")
    until_step(chromium, 2)
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


def test_a_record_is_one_file_that_asks_for_nothing_and_goes_through_its_time(chromium, recorded):
    chromium.get_log("performance")
    look(chromium, f"{recorded}#/operator")
    until(chromium, ".connection", "recorded run")
    until_step(chromium, 2)
    messages = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    asked = {
        message["params"]["request"]["url"].partition("#")[0]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    }
    assert {each for each in asked if not each.startswith(("data:", "about:"))} == {recorded}
    assert chromium.get_log("browser") == []
    assert "AtMinReplicas" in text_of(chromium, "main .lead")  # the last decision of that day
    # Its last change is the last replica but one that goes; the one before it takes edge3.
    for _ in range(2):
        click(chromium, By.CSS_SELECTOR, "#time button[aria-label='previous change']")
    until(chromium, "main .lead", "Underused")
    click(chromium, By.LINK_TEXT, "Why?")
    until(chromium, ".timeline a[aria-current=true]", "−edge3")


def test_a_click_on_a_chart_goes_there_in_time(chromium, recorded):
    look(chromium, f"{recorded}#/operator")
    until(chromium, ".charts", "Backlog")
    until_step(chromium, 2)
    charts = chromium.find_element(By.CSS_SELECTOR, ".charts")
    webdriver.ActionChains(chromium).move_to_element(charts).click().perform()
    until(chromium, "#time output", " s")
    # The middle of 258 s, on a step that is at most 14 s away from it.
    assert 115 <= int(text_of(chromium, "#time output").split(", ")[1].split()[0]) <= 150
