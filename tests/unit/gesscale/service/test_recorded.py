"""A recorded run as one file."""

import json
import re
import shutil
from pathlib import Path

import pytest
from refusals import refused

from gesscale.errors import InputError
from gesscale.service.recorded import html_of, read_record

RECORDS = Path(__file__).parents[3] / "data" / "records"


@pytest.fixture
def record(tmp_path):
    return Path(shutil.copytree(RECORDS / "day_of_gesscale", tmp_path / "day"))


def test_a_day_has_its_decisions_nodes_and_what_changes_cost(record):
    document, faults = read_record(record)
    assert faults == ()
    points = document["points"]["workflow"]
    assert len(points) == len(document["decisions"]["workflow"]) == 26
    assert document["run"]["workflows"][0]["policy"] == "gesscale-2021"
    assert document["nodes"]["workflow"]["names"][0] == "edge1"
    first = next(point for point in points if point["acted"])
    assert (first["add"], first["order"]["at_s"]) == (["edge2"], first["at_s"])
    assert first["order"]["first_tasks_s"] > 0
    # Before the first batch nothing is known; a batch ends every 2 s or so, and is read at the next step.
    ages_s = [point["metrics_age_s"] for point in points]
    assert ages_s[0] is None
    assert all(0 <= age_s < 40 for age_s in ages_s if age_s is not None)
    assert sum(age_s is not None for age_s in ages_s) > 20
    acted = sum(point["acted"] for point in points)
    assert points[-1]["changes"] == {"ordered": acted, "undone": 4}  # four are added and removed within 188 s


def test_a_truncated_record_is_shown_up_to_its_end(record):
    file = record / "decisions.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:10]) + lines[10][:200])
    document, faults = read_record(record)
    assert len(document["points"]["workflow"]) == 10
    assert len(faults) == 1
    assert faults[0].fields["place"] == "line 11"


def test_a_folder_that_is_no_record_is_refused(record):
    with pytest.raises(InputError):
        read_record(record.parent)
    (record / "decisions.jsonl").unlink()
    with refused("record-without-decisions", InputError):
        read_record(record)


def test_no_text_of_a_record_can_end_the_element_that_holds_it(record):
    evil = "</script><script>alert(1)</script><!--"
    file = record / "decisions.jsonl"
    file.write_text(file.read_text().replace("no batch has ended yet", evil))
    html = html_of(read_record(record)[0])
    assert evil not in html
    held = re.search(r'<script type="application/json" id="recorded">(.*?)</script>', html, re.DOTALL)
    assert json.loads(held[1])["points"]["workflow"][0]["detail"] == evil
    assert html.count("<script") == 2
