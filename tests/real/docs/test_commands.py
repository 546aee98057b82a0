"""The commands of the start and how-to pages, run as they stand, page by page, in a folder that has what a reader has.

Of many seeds one is played: what the commands do is the same, and it takes a tenth of the time.
"""

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs_blocks import PAGES, ROOT, blocks_of
from pytest_httpserver import HTTPServer
from werkzeug import Response

pytestmark = [pytest.mark.real, pytest.mark.long]

RECORD = ROOT / "tests" / "data" / "records" / "day_of_gesscale"
RECORDS = ("2026-11-21-164800", "2026-11-23-170000")
LIMIT_S = 900  # bound of a wait, not an expectation
SETTINGS = """\
workflow: {{operators: {{nearest: {{driver_node: edge1, metrics_url: "{url}"}}}}}}
latency_map: {{file: delays.csv, unit: ms, kind: rtt}}
monitor: {{hosts: {{10.0.0.1: edge1, 10.0.0.2: edge2}}}}
knowledge: {{file: knowledge.sqlite}}
"""
DELAYS = """\
,edge1,edge2,edge3,edge4
edge1,0,12,35,40
edge2,12,0,28,30
edge3,35,28,0,15
edge4,40,30,15,0
"""
RUN_PAGES = [page for page in PAGES if any(each.is_run for each in blocks_of(page))]


def batches() -> Response:
    """Answer as a driver does: the sample of the reference, as of now."""
    text = (ROOT / "docs" / "reference" / "spark_metrics.md").read_text("utf-8")
    page = json.loads(re.findall(r"```json\n(.*?)```", text, re.DOTALL)[0])
    ago_s = time.time() - page["now_s"]
    page |= {"operator": "nearest", "now_s": time.time()}
    page["last_progress_at_s"] += ago_s
    for batch in page["batches"]:
        batch["started_at_s"] += ago_s
        batch["ended_at_s"] += ago_s
    return Response(json.dumps(page))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Give what a reader has: a checkout, a driver that answers, a load, delays, and records of two runs."""
    with HTTPServer() as driver:
        driver.expect_request("/batches").respond_with_handler(lambda _request: batches())
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
        shutil.copytree(ROOT / "testbed" / "topologies", tmp_path / "testbed" / "topologies")
        shutil.copy(ROOT / "examples" / "own_load" / "morning.csv", tmp_path / "mine.csv")
        (tmp_path / "delays.csv").write_text(DELAYS, "utf-8")
        (tmp_path / "gesscale.yaml").write_text(SETTINGS.format(url=driver.url_for("").rstrip("/")), "utf-8")
        for record in RECORDS:
            shutil.copytree(RECORD, tmp_path / "reports" / record)
        yield tmp_path


def run(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = re.sub(r"--seeds \d+", "--seeds 1", text)
    programs = Path(sys.executable).parent
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f'PATH="{programs}:$PATH"\n{script}'],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )


@pytest.mark.parametrize("page", RUN_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_works(page: Path, folder: Path) -> None:
    done = run("gesscale once -c gesscale.yaml", folder)  # so that there is a decision to explain
    assert done.returncode == 0, done.stderr
    for block in blocks_of(page):
        named = re.match(r"# (\w+\.py)\n", block.text)
        if block.kind == "python" and named:
            (folder / named[1]).write_text(block.text, "utf-8")
        elif block.is_run:
            assert block.is_harmless, f"{block.name}: say before it why it cannot be run"
            done = run(block.text, folder)
            assert done.returncode == 0, f"{block.name}:\n{block.text}\n{done.stdout}\n{done.stderr}"
