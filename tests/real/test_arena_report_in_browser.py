"""The arena's report in Debian's Chromium: nothing is loaded, nothing is complained of, all can be read and used."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from arena_results import POLICIES, WORKLOADS, an_experiment, made_results
from browser import NEEDS_CHROMIUM, contrast, luminance, open_chromium, pairs_of_colours, see
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from testbed.arena.report.page import write_report

EVIL = "<img src=x onerror=alert(1)>"
DESKTOP = 1400

pytestmark = [pytest.mark.real, NEEDS_CHROMIUM]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a report that has every part: variants, lost runs, a name that is markup."""
    experiment = an_experiment(
        (*POLICIES, f"{EVIL}.py:Mine"),
        engine="flink",
        variants={"choices": [{"name": "restart", "options": [{"name": "a"}, {"name": "b", "set": {"slo": "30s"}}]}]},
    )
    results = [
        replace(result, lost=f"ValueError: {EVIL}", metrics={}, series={})
        if (result.case.policy, result.case.seed) == ("thr-nlaware", 2)
        else result
        for result in made_results(experiment)
    ]
    file = tmp_path_factory.mktemp("report") / "report.html"
    write_report(experiment, results, file)
    return file.as_uri()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with open_chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


@pytest.fixture
def page(chromium: webdriver.Chrome, report: str) -> webdriver.Chrome:
    """Open the report again, on a desktop and in light colours."""
    see(chromium, DESKTOP, "light")
    chromium.get(report)
    return chromium


def column(driver: webdriver.Chrome, table: str, number: int) -> list[float]:
    cells = driver.find_elements(By.CSS_SELECTOR, f"[aria-labelledby='{table}'] tbody tr > :nth-child({number})")
    return [float(cell.get_attribute("data-sort") or "nan") for cell in cells]


def heads(driver: webdriver.Chrome, table: str) -> list[str]:
    found = driver.find_elements(By.CSS_SELECTOR, f"[aria-labelledby='{table}'] thead th")
    return [head.text for head in found]


def test_nothing_but_the_file_is_asked_for_and_nothing_is_complained_of(page, report):
    messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = {
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent" and message["params"]["documentURL"] == report
    }
    assert report in asked
    assert {address for address in asked if address != report and not address.startswith("data:")} == set()
    assert page.get_log("browser") == []


def test_markup_in_names_and_reasons_is_text(page):
    assert page.find_elements(By.CSS_SELECTOR, "img:not([src^='data:']), main script") == []
    assert f"ValueError: {EVIL}" in page.find_element(By.ID, "lost").text


def test_a_click_sorts_a_table_and_another_turns_it_round(page):
    cost = [text.split()[0] for text in heads(page, "w0-provisioning")].index("cost") + 1
    button = f"[aria-labelledby='w0-provisioning'] thead th:nth-child({cost}) button"
    before = column(page, "w0-provisioning", cost)
    page.find_element(By.CSS_SELECTOR, button).click()
    assert column(page, "w0-provisioning", cost) == sorted(before)
    page.find_element(By.CSS_SELECTOR, button).send_keys(Keys.ENTER)  # by keyboard
    assert column(page, "w0-provisioning", cost) == sorted(before, reverse=True)
    head = page.find_element(By.CSS_SELECTOR, f"[aria-labelledby='w0-provisioning'] thead th:nth-child({cost})")
    assert head.get_attribute("aria-sort") == "descending"
    assert before != sorted(before)  # else nothing was shown


def test_a_workload_and_policies_can_be_chosen(page):
    Select(page.find_element(By.ID, "choose-workload")).select_by_visible_text(WORKLOADS[1])
    page.find_element(By.CSS_SELECTOR, "#chooser input[value=gesscale]").click()
    assert not page.find_element(By.ID, "w0").is_displayed()
    shown = page.find_elements(By.CSS_SELECTOR, "#w1 figure[data-policy]")
    assert {figure.get_dom_attribute("data-policy") for figure in shown if figure.is_displayed()} == {
        *POLICIES[:3],
        f"{EVIL}.py:Mine",
    }
    page.find_element(By.CSS_SELECTOR, "nav a[href='#w0']").click()  # who asks for a part that is hidden gets it
    assert page.find_element(By.ID, "w0").is_displayed()


def test_the_page_can_be_read_and_has_all_without_javascript(chromium, report):
    see(chromium, DESKTOP, "light")
    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        chromium.get(report)
        assert chromium.find_elements(By.CSS_SELECTOR, "th button") == []  # the script has not run
        assert not chromium.find_element(By.ID, "chooser").is_displayed()
        text = chromium.find_element(By.ID, "glance").text
        assert all(name in text for name in (*POLICIES, *WORKLOADS))
        assert chromium.find_element(By.CSS_SELECTOR, "#glance img").size["height"] > 80
    finally:
        chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_every_text_stands_out_from_what_is_behind_it(page, report, colours):
    see(page, DESKTOP, colours)
    page.get(report)
    pairs = pairs_of_colours(page, "h1, h2, p, a, dt, dd, th, td span, caption, label, li")
    assert len(pairs) > 5
    too_weak = {pair: where for pair, where in pairs.items() if contrast(pair) < 4.5}  # WCAG 2.1, 1.4.3 (AA)
    assert too_weak == {}
    background = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (luminance(background) < 0.05) == (colours == "dark")
