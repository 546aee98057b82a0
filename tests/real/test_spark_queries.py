"""Several queries in one real driver: in another session, begun before `attach`, ended, and restarted."""

import json
import subprocess
import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gesscale.monitor.records import parse_document, query_problem

pytestmark = pytest.mark.real

PROGRAM = """
import json, time
from urllib.request import urlopen
from gesscale.spark import attach
from testbed.pipeline.session import open_session

spark = open_session("trial")

def start(session, name, rows):
    rate = session.readStream.format("rate").option("rowsPerSecond", rows).load()
    return rate.writeStream.queryName(name).format("noop").trigger(processingTime="1 second").start()

def page(attachment, query=""):
    with urlopen(attachment.url + "/batches" + (f"?query={query}" if query else ""), timeout=60) as response:
        return json.load(response)

def wait(attachment, is_there):
    deadline = time.monotonic() + 60
    while not is_there(found := page(attachment)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return found

def note(step):
    pages[step] = {"any": page(unnamed), "late": page(named)}

pages = {}
early = start(spark, "early", 30)
time.sleep(2)
unnamed = attach(spark, operator="op", port=0, cap_rows=100)
named = attach(spark, operator="op", query="late", port=0, cap_rows=100)
wait(unnamed, lambda found: len(found["batches"]) > 1)
note("begun before")
late = start(spark.newSession(), "late", 5)
wait(named, lambda found: len(found["batches"]) > 1)
note("two")
pages["two"]["early"] = page(unnamed, "early")
with urlopen(named.url + "/metrics", timeout=60) as response:
    metrics = response.read().decode()
early.stop()
wait(unnamed, lambda found: found["query"] == "late")
note("one left")
late.stop()
wait(named, lambda found: not found["active"])
note("none left")
late = start(spark, "late", 5)
wait(named, lambda found: found["active"] and found["batches"])
note("restarted")
late.stop()
named.close()
unnamed.close()
spark.stop()
print("RESULT " + json.dumps([pages, metrics]))
"""


@pytest.fixture(scope="module")
def served():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stderr[-3000:]
    return json.loads(lines[0].removeprefix("RESULT "))


@pytest.mark.parametrize(
    ("step", "page", "query", "code"),
    [
        ("begun before", "any", "early", None),
        ("begun before", "late", "late", "query-not-found"),
        ("two", "any", None, "queries-several"),
        ("two", "late", "late", None),
        ("two", "early", "early", None),
        ("one left", "any", "late", None),
        ("none left", "any", "late", "query-ended"),
        ("none left", "late", "late", "query-ended"),
        ("restarted", "late", "late", None),
    ],
)
def test_each_query_is_served_by_name_and_judged_while_it_runs(served, step, page, query, code):
    document = parse_document(json.dumps(served[0][step][page]).encode(), "op")
    problem = query_problem(document)
    assert (document.query, problem.code if problem else None) == (query, code)
    if code is None:
        assert {batch["trigger_s"] for batch in document.batches} == {1.0}
        assert document.batches


def test_an_operator_has_the_gauges_of_its_query_alone(served):
    samples = [each for family in text_string_to_metric_families(served[1]) for each in family.samples]
    assert {each.labels["query"] for each in samples if "query" in each.labels} == {"late"}


def test_the_rows_are_those_of_the_query(served):
    # A second of rate 5 is 5 rows; the first batch may take some seconds of them, 30 rows a second are never mistaken.
    last = served[0]["two"]["late"]["batches"][-1]
    assert last["rows"] < 30
