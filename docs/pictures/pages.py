"""Draws the pictures of the page and of a latency map again: ``python docs/pictures/pages.py``.

It needs Chromium. It runs the default policy on a taxi day in the arena and takes a screenshot of each view of
its page.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
CHROMIUM = "/usr/bin/chromium"
DAY = "nyc-day"
NODES_OF_THE_PICTURE = 4
LIMIT_S = 300


def gesscale(*words: object) -> None:
    """Run one command of gesscale."""
    command = (sys.executable, "-m", "gesscale", *map(str, words))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_S, cwd=ROOT)


def screenshot(address: str, name: str, width: int, height: int, *options: str) -> None:
    """Open an address in Chromium and write what it shows to a PNG file here."""
    target = FOLDER / name
    command = (
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=8000",
        f"--window-size={width},{height}", f"--screenshot={target}", *options, address,
    )  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S)


def moment(record: Path) -> tuple[str, float]:
    """Return the operator and the time of the first decision that adds a replica to at least four nodes."""
    for line in (record / "decisions.jsonl").read_text("utf-8").splitlines():
        decision = json.loads(line)
        before, placement = decision["plan"]["before"], decision["plan"]["placement"]
        if len(before) >= NODES_OF_THE_PICTURE and len(placement) > len(before):
            return decision["operator"], decision["at_s"]
    raise SystemExit("no decision adds a replica to four nodes")


def draw_page(folder: Path) -> None:
    """Draw the views of one recorded run."""
    gesscale("arena", "run", "--policies", "gesscale", "--workload", DAY, "--seeds", 1, "--results", folder / "day")
    gesscale("arena", "record", folder / "day", "--policy", "gesscale", "--to", folder / "record")
    page = (folder / "record" / "page.html").as_uri()
    operator, at_s = moment(folder / "record")
    screenshot(f"{page}#/decisions?operator={operator}&at={at_s}", "page_decision.png", 1200, 1440)
    screenshot(f"{page}#/operator?operator={operator}", "page_operator.png", 1200, 1680)
    screenshot(f"{page}#/nodes?operator={operator}&at={at_s}", "page_nodes.png", 1200, 850)


def draw_map() -> None:
    """Draw the test bed's latency map with a placement."""
    topology = ROOT / "testbed/topologies/edge8.csv"
    members = ("--members", "edge1,edge2,edge3")
    gesscale(
        "latency-map",
        "show",
        topology,
        "--unit",
        "ms",
        "--kind",
        "rtt",
        *members,
        "--picture",
        FOLDER / "latency_map_links.png",
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        draw_page(Path(place))
    draw_map()
