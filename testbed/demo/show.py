"""A demo on emulated nodes from beginning to end: rides, drivers, loop, report. Nothing of it stays behind."""

import time
from collections.abc import Mapping
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path

from rich.console import Console

from gesscale.assembly import build_loop
from gesscale.decision import Decision
from gesscale.service.local import ServedLoop
from gesscale.service.recorded import write_page
from gesscale.settings import Settings
from testbed.cluster import privilege
from testbed.cluster.topology import Topology, read_topology
from testbed.demo.feeds import Feed, open_feed
from testbed.demo.live import LiveView
from testbed.demo.query import require_driver, running_operators
from testbed.demo.record import Day, Record
from testbed.demo.report import write_report
from testbed.demo.rides import PreparedRides, prepare_rides
from testbed.demo.scenario import Scenario, prepare_settings
from testbed.demo.stage import DayClock, Stage, checked_pairs, edge_nodes
from testbed.demo.verdict import check_both_directions, check_nodes, check_rows
from testbed.pipeline.kafka_topic import broken_rows
from testbed.pipeline.rides import bundled_demand
from testbed.pipeline.sink import verify_sink


def make_folder(reports: Path) -> Path:
    """Make the folder of a report, named by the time."""
    folder = reports / datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")
    folder.mkdir(parents=True)
    return folder


def play(scenario: Scenario, folder: Path, console: Console, config: Path | None = None) -> bool:
    """Run a demo and report.

    Parameters
    ----------
    scenario
        What is played.
    folder
        The report's folder; it exists and is empty.
    console
        Where progress is shown.
    config
        Settings of the loop, as an earlier run left them; without, they are those of the scenario.

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
    settings = prepare_settings(scenario, topology, folder, config)
    with edge_nodes(topology, scenario.topology, stage):
        pairs = checked_pairs(topology, stage)
        rides = prepare_rides(bundled_demand(), scenario.share, scenario.copies, stage.say)
        day = play_day(scenario, settings, topology, rides, folder, stage)
    checks = [
        check
        for record in day.records.values()
        if scenario.scaling_promised
        for check in (
            check_both_directions(record.rescales),
            check_nodes(record.acted, topology.map, topology.driver_node),
        )
    ]
    policy = settings.analyze.policy
    more = {
        "policy": policy,
        "cleaning": rides.cleaning,
        "relay_error_ms_most": max(abs(pair.error_ms or 0.0) for pair in pairs),
        "pairs": pairs,
    }
    hints = (
        f"why each decision: gesscale explain -c {folder}/gesscale.yaml",
        f"what another policy would have decided: gesscale replay {folder} --policy NAME",
    )
    title = f"policy {policy}: {scenario.title}"
    kept = write_report(day, [*checks, *check_rows(day)], title, folder, console, more=more, hints=hints)
    write_page(folder, folder / "page.html")
    console.print(f"the run to look at, with a slider over its time: {folder}/page.html", highlight=False)
    return kept


def play_day(
    scenario: Scenario,
    settings: Settings,
    topology: Topology,
    rides: PreparedRides,
    folder: Path,
    stage: Stage,
) -> Day:
    """Let a day of rides pass through all operators; the nodes are up.

    Parameters
    ----------
    scenario, settings
        What is played, and how it is scaled.
    topology
        The nodes.
    rides
        What is served.
    folder
        Where everything goes.
    stage
        Prints what happens.

    Returns
    -------
    Day
        With the rows counted.

    Raises
    ------
    GesscaleError
        When something cannot be started, or ends before its time.
    """
    broken = broken_rows(rides.rows, scenario.kafka.broken_share) if scenario.kafka else 0
    valid = rides.rows - broken
    with open_feed(scenario, topology, rides.folder, folder, stage.say) as feed:
        records = _scale(scenario, settings, topology, rides, valid, feed, folder, stage)
        stage.say("counting the rows that came out")
        handed_on = feed.handed_on(valid)
    sink = verify_sink(folder / "sink", valid)
    return Day(records=records, produced=rides.rows, broken=broken, handed_on=handed_on, sink=sink)


def _scale(
    scenario: Scenario,
    settings: Settings,
    topology: Topology,
    rides: PreparedRides,
    valid: int,
    feed: Feed,
    folder: Path,
    stage: Stage,
) -> Mapping[str, Record]:
    """Run drivers and loop until the last operator has processed all valid rows."""
    names = [operator.name for operator in scenario.operators]
    with ExitStack() as stack:
        stage.say(
            f"starting on {topology.driver_node} the driver, and one replica, of {' and of '.join(names)}"
        )
        sparks = stack.enter_context(running_operators(scenario, topology, feed, folder))
        loop = build_loop(settings, time.time())
        stack.enter_context(closing(loop.knowledge))
        served = stack.enter_context(closing(ServedLoop(loop, settings, host="127.0.0.1", port=0)))
        if privilege.is_network_of_machine():
            stage.say(f"look at it: {served.url}")
        stage.say(f"the day begins: {rides.rows} rows in {scenario.day_s:.0f} s, policy {loop.policy.name}")
        began_at_s = stack.enter_context(feed.flowing())
        records = {name: Record(began_at_s=began_at_s) for name in names}
        view = LiveView(stage.console, scenario.day_s, rides.begins_at_hour)
        stack.enter_context(view.showing())

        def check() -> None:
            feed.check()
            for spark in sparks:
                require_driver(spark)

        def report(decisions: tuple[Decision, ...]) -> None:
            served.report(decisions)
            for decision in decisions:
                records[decision.operator].add((decision,))
                view.show(decision, decision.at_s - began_at_s)

        clock = DayClock(
            is_over=lambda: records[names[-1]].processed_rows >= valid,
            check=check,
            deadline_s=began_at_s + scenario.day_s + scenario.drain_s,
        )
        served.loop.run(
            clock, settings.monitor.period_s, report, least_period_s=settings.monitor.least_period_s
        )
        return records
