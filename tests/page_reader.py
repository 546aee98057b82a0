"""How a test reads a page in a browser, and what it does there; the page may be drawn again at any time."""

from browser import see
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

PHONE, DESKTOP = 360, 1400
SETTLE_S = 120  # bound of a wait, not an expectation
TITLES = {"workflow": "Workflow", "operator": "op", "nodes": "Nodes", "decisions": "Decisions", "health": "Health"}


def look(driver: webdriver.Chrome, address: str, width: int = DESKTOP, colours: str = "light") -> None:
    """Open an address again, and wait until its view is drawn."""
    see(driver, width, colours)
    driver.get("about:blank")
    driver.get_log("browser")
    driver.get(address)
    until(driver, "main h1")


def until(driver: webdriver.Chrome, selector: str, text: str = "", *, is_whole: bool = False) -> None:
    """Wait until an element of the page, which may be drawn again meanwhile, is there and says something.

    With `is_whole` it says nothing else.
    """
    fits = "each.textContent === arguments[1]" if is_whole else "each.textContent.includes(arguments[1])"
    found = f"return [...document.querySelectorAll(arguments[0])].some(each => {fits})"
    WebDriverWait(driver, SETTLE_S).until(lambda _: driver.execute_script(found, selector, text))


def until_step(driver: webdriver.Chrome, number: int) -> None:
    """Wait until there are steps up to a number, from 0: the page draws the newest one before it has the others."""
    WebDriverWait(driver, SETTLE_S).until(lambda _: last_instant(driver) >= number)


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


def cut_off(driver: webdriver.Chrome, is_off: bool) -> None:
    conditions = {"offline": is_off, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)


def text_of(driver: webdriver.Chrome, selector: str = "main") -> str:
    return driver.execute_script("return document.querySelector(arguments[0]).innerText", selector)
