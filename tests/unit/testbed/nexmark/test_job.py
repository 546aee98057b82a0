"""Options of a query of Nexmark on the nodes, and the due times of its rows."""

from pathlib import Path

import numpy as np
import pytest
import typer.main

from testbed.cluster.topology import read_topology
from testbed.live.kafka import KafkaFeed
from testbed.live.scenario import prepare_settings
from testbed.nexmark.cli import app
from testbed.nexmark.day import NexmarkJob, scenario_of
from testbed.nexmark.queries import nexmark_query
from testbed.nexmark.source import NAME, NexmarkOptions, due_events
from testbed.pipeline.kafka_broker import KafkaBroker
from testbed.workloads.workload import Workload

LOAD = Workload.of_rates("made", 10.0, [2.0, 0.0, 5.0])
BEGAN_S = 1000.0
BROKER = KafkaBroker(bootstrap="10.77.0.1:9092", command=(), environment={}, log=Path("broker.log"))
FEED = KafkaFeed(broker=BROKER, topology=read_topology("edge8"), log=Path("producer.log"))


def job(name, feed=None):
    query = nexmark_query(name)
    scenario = scenario_of(query, kafka=feed is not None)
    return NexmarkJob(query=query, scenario=scenario, load=LOAD, start_at_s=BEGAN_S, feed=feed)


def known_to(command):
    parameters = typer.main.get_command(app).commands[command].params  # type: ignore[attr-defined]
    return {name for parameter in parameters for name in parameter.opts}


def words_of(name, feed=None, folder=Path("folder")):
    made = job(name, feed)
    (operator,) = made.scenario.operators
    module, *words = made.program(operator, folder)[1:]
    assert (module, words[:2]) == ("testbed.nexmark", ["stream", name])
    pairs = [word for word in words[2:] if word != "--linger"]
    return dict(zip(pairs[::2], pairs[1::2], strict=True))


@pytest.mark.parametrize("feed", [None, FEED])
def test_drivers_and_producers_know_their_options(feed):
    assert words_of("q5", feed).keys() <= known_to("stream")
    sent = {*job("q5", FEED).event_options, "kafka", "topic", "partitions"}
    assert {f"--{name}" for name in sent} <= known_to("produce")
    plain, fed = words_of("q3"), words_of("q3", FEED)
    kafka = {"--kafka": "10.77.0.1:9092", "--topic": "nexmark", "--cap-rows": "750"}
    assert dict(fed.items() - plain.items()) == kafka  # only the source of its events differs
    assert plain.keys() - fed.keys() == {"--cap-rows-per-replica"}


def test_the_loop_has_the_fixed_cap_and_the_load_from_the_driver(tmp_path):
    for feed, rows in ((None, [300, 900]), (FEED, [750, 750])):  # 300 for each replica; 3 of 125/s in 2 s
        settings = prepare_settings(job("q5", feed).scenario, FEED.topology, tmp_path)
        operator = settings.workflow.build().operators["q5"]
        assert [operator.batch_rows(replicas) for replicas in (1, 3)] == rows
        assert settings.workflow.operators["q5"].kafka is None


def test_rows_are_due_when_the_source_offers_them():
    made, given = job("q3"), words_of("q3")
    # 10 s of 2, and 10 s of 5; q3 reads each event twice, with half of the work each time
    assert (made.events, made.rows_total) == (70, 140)
    assert made.events_per_s == pytest.approx(70 / 30, abs=0.05)
    assert [words_of(name)["--service-ms-per-row"] for name in ("q5", "q3")] == ["8.0", "4.0"]
    options = NexmarkOptions.parse(
        NAME,
        {
            "events": given["--events"],
            "start_at": given["--start-at"],
            "step_s": given["--step-s"],
            "rates": given["--rates"],
        },
    )
    for at_s in (999.0, 1000.0, 1004.9, 1015.0, 1021.0, 1031.0):
        assert made.offered_rows(at_s) == 2 * due_events(options, at_s)
    # event 0 is due when a whole one is: after 0.5 s; 20 of the first step by 10 s; the next 0.2 s after 20 s
    assert made.rows_due_at_s(np.array([0, 1, 39, 40])).tolist() == pytest.approx([1000.5, 1000.5, 1010.0, 1020.2])
