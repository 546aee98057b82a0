"""Chromium for tests of pages, without background requests, in a given size and colour scheme."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

CHROMIUM, CHROMEDRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
NEEDS_CHROMIUM = pytest.mark.skipif(
    not (CHROMIUM.exists() and CHROMEDRIVER.exists()),
    reason="needs /usr/bin/chromium and /usr/bin/chromedriver: apt-get install chromium chromium-driver",
)
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

_COLOURS_OF_TEXTS = """
const behind = element => {
  for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (colour !== "rgba(0, 0, 0, 0)") return colour;
  }
  return "none";
};
const found = {};
for (const element of document.querySelectorAll(arguments[0])) {
  const style = getComputedStyle(element);
  const colour = element.tagName === "text" ? style.fill : style.color;
  found[colour + " on " + behind(element)] = element.outerHTML.slice(0, 80);
}
return found;
"""


@contextlib.contextmanager
def open_chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for option in (*OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(executable_path=str(CHROMEDRIVER)))
    try:
        yield driver
    finally:
        driver.quit()


def see(driver: webdriver.Chrome, width: int, colours: str) -> None:
    """Open pages in a window of this size; a narrow one emulates a phone."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    preferred = [
        {"name": "prefers-color-scheme", "value": colours},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": preferred})


def pairs_of_colours(driver: webdriver.Chrome, selector: str) -> dict[str, str]:
    """Return ``colour on colour`` of every text, with the start of an element that has it."""
    return driver.execute_script(_COLOURS_OF_TEXTS, selector)


def contrast(pair: str) -> float:
    """Return the contrast of ``colour on colour`` by WCAG 2.1."""
    low, high = sorted(luminance(colour) for colour in pair.split(" on "))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    shares = [float(number) / 255 for number in re.findall(r"[\d.]+", colour)[:3]]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
