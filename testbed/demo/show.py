"""The demo from beginning to end: nodes, rides, driver, loop, report. Nothing of it stays behind."""

import shutil
import time
from contextlib import closing
from pathlib import Path

from rich.console import Console

from gesscale.assembly import build_loop
from gesscale.decision import Decision
from gesscale.settings import load_settings
from testbed.cluster.processes import Role
from testbed.cluster.topology import Topology, read_topology
from testbed.demo.live import LiveView
from testbed.demo.query import require_driver, start_query
from testbed.demo.record import Record
from testbed.demo.report import write_report
from testbed.demo.rides import PreparedRides, prepare_rides
from testbed.demo.scenario import Scenario
from testbed.demo.stage import DayClock, Stage, checked_pairs, edge_nodes

HEAD_START_S = 30.0
DRAIN_S = 90.0


def play(scenario: Scenario, folder: Path, console: Console) -> bool:
    """Run the demo.

    Parameters
    ----------
    scenario
        What is played.
    folder
        The report's folder; it exists and is empty.
    console
        Where progress is shown.

    Returns
    -------
    bool
        Whether every promise was kept.

    Raises
    ------
    GesscaleError
        When something cannot be started; nothing stays behind.
    """
    stage = Stage(console)
    topology = read_topology(scenario.topology)
    with edge_nodes(topology, scenario.topology, stage):
        pairs = checked_pairs(topology, stage)
        rides = prepare_rides(scenario.share, scenario.copies, stage.say)
        record = _play_day(scenario, topology, rides, folder, stage)
        stage.say("counting the rows of the sink, drawing the figure")
        return write_report(record, scenario, topology, pairs, rides, folder, console)


def _play_day(
    scenario: Scenario, topology: Topology, rides: PreparedRides, folder: Path, stage: Stage
) -> Record:
    start_at_s = time.time() + HEAD_START_S
    stage.say(f"starting the query's driver on {topology.driver_node}, and one replica beside it")
    spark = start_query(scenario, topology, rides.folder, folder, start_at_s)
    loop = build_loop(load_settings(scenario.write_settings(folder, topology)), time.time())
    record = Record(began_at_s=start_at_s)
    view = LiveView(stage.console, scenario.day_s, rides.begins_at_hour)
    stage.say(f"the day begins: {rides.rows} rows in {scenario.day_s:.0f} s, policy {scenario.policy}")
    clock = DayClock(
        is_over=lambda: record.processed_rows >= rides.rows,
        check=lambda: require_driver(spark),
        deadline_s=start_at_s + scenario.day_s + DRAIN_S,
    )

    def report(decisions: tuple[Decision, ...]) -> None:
        record.add(decisions)
        for decision in decisions:
            view.show(decision, record.since_start_s(decision.at_s))

    try:
        with closing(loop.knowledge), view.showing():
            loop.run(clock, scenario.period_s, report)
    finally:
        shutil.copy(spark.log(Role.DRIVER, topology.driver_node), folder / "driver.log")
    spark.stop_driver()
    return record
