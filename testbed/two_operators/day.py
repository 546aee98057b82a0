"""A day of rides through both operators, scaled by the loop, and what came of it."""

import time
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from gesscale.assembly import build_loop
from gesscale.decision import Decision
from gesscale.settings import Settings
from testbed.cluster.topology import Topology
from testbed.demo.live import LiveView
from testbed.demo.query import require_driver
from testbed.demo.record import Record
from testbed.demo.rides import PreparedRides
from testbed.demo.stage import DayClock, Stage
from testbed.pipeline.kafka_topic import broken_rows, verify_topic
from testbed.pipeline.sink import SinkCount, verify_sink
from testbed.two_operators.scenario import Scenario
from testbed.two_operators.stage import (
    broker_on_node,
    require_producer,
    running_operators,
    running_producer,
)

DRAIN_S = 75.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What came of a day.

    Attributes
    ----------
    records
        By operator, in the order of the stream.
    produced, broken
        Rows that were sent, and those of them that have no position.
    handed_on
        By operator that writes a topic: what the topic holds.
    sink
        What the files of the last operator hold.
    """

    records: Mapping[str, Record]
    produced: int
    broken: int
    handed_on: Mapping[str, SinkCount]
    sink: SinkCount


def play_day(
    scenario: Scenario,
    settings: Settings,
    topology: Topology,
    rides: PreparedRides,
    folder: Path,
    stage: Stage,
) -> Day:
    """Let a day of rides pass through both operators; the nodes are up.

    Parameters
    ----------
    scenario, settings
        What is played, and how it is scaled.
    topology
        The nodes.
    rides
        What the producer sends, each once.
    folder
        Where everything goes.
    stage
        Told what happens.

    Returns
    -------
    Day
        With the rows counted.

    Raises
    ------
    GesscaleError
        When something cannot be started, or ends before its time.
    """
    broken = broken_rows(rides.rows, scenario.broken_share)
    valid = rides.rows - broken
    stage.say(f"starting a Kafka broker on {topology.driver_node}")
    with broker_on_node(scenario, topology, folder) as broker:
        records = _play(scenario, settings, topology, rides, valid, folder, stage)
        stage.say("counting the rows of topics and files")
        handed_on = {
            operator.name: verify_topic(broker.bootstrap, operator.writes, valid)
            for operator in scenario.operators
            if operator.writes
        }
    sink = verify_sink(folder / "sink", valid)
    return Day(records=records, produced=rides.rows, broken=broken, handed_on=handed_on, sink=sink)


def _play(
    scenario: Scenario,
    settings: Settings,
    topology: Topology,
    rides: PreparedRides,
    valid: int,
    folder: Path,
    stage: Stage,
) -> Mapping[str, Record]:
    """Run loop, operators and producer until the last operator has processed all valid rows."""
    names = [operator.name for operator in scenario.operators]
    with ExitStack() as stack:
        stage.say(f"starting the drivers of {' and '.join(names)}, and a replica of each beside them")
        sparks = stack.enter_context(running_operators(scenario, topology, folder))
        loop = build_loop(settings, time.time())
        stack.enter_context(closing(loop.knowledge))
        began_at_s = time.time()
        records = {name: Record(began_at_s=began_at_s) for name in names}
        stage.say(f"the day begins: {rides.rows} rows in {scenario.day_s:.0f} s, policy {loop.policy.name}")
        producer = stack.enter_context(running_producer(scenario, topology, rides.folder, folder))
        view = LiveView(stage.console, scenario.day_s, rides.begins_at_hour)
        stack.enter_context(view.showing())

        def check() -> None:
            require_producer(producer, folder)
            for spark in sparks:
                require_driver(spark)

        def report(decisions: tuple[Decision, ...]) -> None:
            for decision in decisions:
                records[decision.operator].add((decision,))
                view.show(decision, decision.at_s - began_at_s)

        clock = DayClock(
            is_over=lambda: records[names[-1]].processed_rows >= valid,
            check=check,
            deadline_s=began_at_s + scenario.day_s + DRAIN_S,
        )
        loop.run(clock, settings.monitor.period_s, report)
        return records
