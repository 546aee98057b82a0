"""The generated pages of the reference are what their generators write, and their samples keep to their schemas."""

import json
import re
from pathlib import Path
from urllib.request import urlopen

import pytest
from errors_page import errors_page
from json_page import json_page, samples, schemas
from jsonschema import Draft202012Validator
from page_world import ServedJournal, growing, served, step_of
from prometheus_page import prometheus_page
from recorded_steps import T0_S

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def test_the_page_of_metrics_is_that_of_the_collectors():
    page = (REFERENCE / "prometheus.md").read_text("utf-8")
    assert page == prometheus_page(), "python tests/prometheus_page.py > docs/reference/prometheus.md"


def test_the_page_of_errors_is_that_of_the_catalogues():
    page = (REFERENCE / "errors.md").read_text("utf-8")
    assert page == errors_page(), "python tests/errors_page.py > docs/reference/errors.md"


def test_the_page_of_json_is_that_of_the_types():
    assert (REFERENCE / "json.md").read_text("utf-8") == json_page(), "run: python tests/json_page.py"
    written = {file.stem: json.loads(file.read_text("utf-8")) for file in (REFERENCE / "schemas").iterdir()}
    assert written == schemas(), "run: python tests/json_page.py"


def judge(document: object, name: str) -> list[str]:
    form = json.loads((REFERENCE / "schemas" / f"{name}.json").read_text("utf-8"))
    return [fault.message for fault in Draft202012Validator(form).iter_errors(document)]


@pytest.mark.parametrize("name", ["run", "points", "nodes", "decision", "alive", "step"])
def test_samples_match_their_schemas_and_incomplete_ones_do_not(name):
    sample = samples()[name]
    assert judge(sample, name) == []
    for member in sample:
        lacking = {each: value for each, value in sample.items() if each != member}
        assert judge(lacking, name) == [f"'{member}' is a required property"]


def test_the_sample_of_a_drivers_batches_keeps_to_its_schema():
    text = (REFERENCE / "spark_metrics.md").read_text("utf-8")
    sample = json.loads(re.findall(r"```json\n(.*?)```", text, re.DOTALL)[0])
    assert judge(sample, "batches") == []
    sample["batches"][0]["rows"] = "many"
    assert judge(sample, "batches") == ["'many' is not of type 'integer'"]


def test_what_a_scaler_serves_keeps_to_the_schemas():
    with served() as world:
        assert judge(json.loads(answer(world, "nodes?workflow=none")), "nodes") != []  # null: not stepped
        world.add(step_of(at_s=T0_S - 10))
        world.add(step_of({"op": growing(T0_S)}))
        for path in ("run", "points?workflow=workflow", "nodes?workflow=workflow"):
            assert judge(json.loads(answer(world, path)), path.partition("?")[0]) == []
        with urlopen(f"{world.url}/api/events", timeout=60) as stream:
            event, data = (stream.readline().decode().partition(": ")[2] for _ in range(2))
        assert (event.strip(), judge(json.loads(data), "alive")) == ("alive", [])


def answer(world: ServedJournal, path: str) -> bytes:
    with urlopen(f"{world.url}/api/{path}", timeout=60) as found:
        return found.read()
