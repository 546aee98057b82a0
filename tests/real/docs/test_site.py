"""The site of the docs: built without a warning, read without a network, searched, and looked at on a telephone."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import NEEDS_CHROMIUM, open_chromium, see
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[3]
SETTLE_S = 120  # bound of a wait, not an expectation
PAGES = ("docs/README", "examples/README", "docs/howto/when_it_does_nothing", "docs/reference/settings")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make docs` does, and return its folder."""
    folder = tmp_path_factory.mktemp("site")
    options = ("-q", "-W", "--keep-going", "-d", str(folder / "trees"), "-c", "docs")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, ".", str(folder / "html")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with open_chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


def test_every_page_of_the_docs_is_in_it(site):
    pages = {page.relative_to(ROOT).with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages if not (site / page).exists()} == set()


@NEEDS_CHROMIUM
def test_no_page_asks_another_host_for_anything_or_complains(site, chromium):
    see(chromium, 1400, "light")
    for page in PAGES:
        chromium.get((site / f"{page}.html").as_uri())
    messages = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    asked = {
        message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"
    }
    assert len(asked) > len(PAGES)
    assert {url for url in asked if not url.startswith(("file:", "data:", "chrome:"))} == set()
    assert chromium.get_log("browser") == []


@NEEDS_CHROMIUM
def test_the_search_finds_a_page_by_its_words(site, chromium):
    see(chromium, 1400, "light")
    chromium.get((site / "docs/README.html").as_uri())
    chromium.find_element(By.NAME, "q").send_keys("blackbox\n")
    # Results are shown one after the other.
    titles = "return [...document.querySelectorAll('#search-results li a')].map(link => link.innerText)"
    WebDriverWait(chromium, SETTLE_S).until(
        lambda driver: "Latency maps" in driver.execute_script(titles), "no result is Latency maps"
    )


@NEEDS_CHROMIUM
@pytest.mark.parametrize("page", PAGES)
def test_a_telephone_shows_a_page_without_scrolling_sideways(site, chromium, page):
    see(chromium, 400, "dark")
    chromium.get((site / f"{page}.html").as_uri())
    assert chromium.execute_script("return document.scrollingElement.scrollWidth") == 400
