"""A browser, a scaler to look at, and a recorded run."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browser import open_chromium
from edge import NODES
from page_world import ServedJournal, growing, served, step_of
from recorded_steps import T0_S, decided
from selenium import webdriver

from gesscale.model.decision import Reason, Rejection
from gesscale.ports import Node
from gesscale.service.recorded import write_page

RECORD = Path(__file__).parents[2] / "data" / "records" / "day_of_gesscale"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with open_chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


@pytest.fixture
def world() -> Iterator[ServedJournal]:
    """A scaler that has quietly stepped twice, and then added a replica."""
    with served() as made:
        silent = Rejection(node="edge", reason=Reason.NOT_READY, detail="the kubelet was silent")
        made.add(step_of({"op": replace(decided(T0_S - 20), ineligible=(silent,))}, at_s=T0_S - 20))
        made.add(step_of(at_s=T0_S - 10))
        made.add(step_of({"op": growing(T0_S)}, nodes=nodes_of_which_far_is_cordoned()))
        yield made


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("record") / "page.html"
    write_page(RECORD, file)
    return file.as_uri()


def nodes_of_which_far_is_cordoned() -> dict[str, Node]:
    ready = {name: Node(name=name) for name in NODES}
    return {**ready, "far": Node(name="far", problem="by a person", reason=Reason.CORDONED)}
