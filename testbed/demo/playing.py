"""A demo on emulated nodes from beginning to end: rides, drivers, loop, report. Nothing of it stays behind."""

from datetime import datetime
from pathlib import Path

from rich.console import Console

from gesscale.service.recorded import write_page
from gesscale.settings import Settings
from testbed.cluster.topology import Topology, read_topology
from testbed.demo.taxi import PreparedRides, open_feed, prepare_rides
from testbed.live.nodes import Stage, checked_pairs, edge_nodes
from testbed.live.record import Day
from testbed.live.report import check_both_directions, check_nodes, check_rows, draws_nodes, write_report
from testbed.live.running import scale_day
from testbed.live.scenario import Scenario, prepare_settings
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
    checks = []
    for record in day.records.values() if scenario.scaling_promised else ():
        checks.append(check_both_directions(record.rescales))
        if not draws_nodes(record.acted):
            checks.append(check_nodes(record.acted, topology.map, topology.driver_node))
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
        records = scale_day(
            scenario,
            settings,
            topology,
            feed,
            folder,
            stage,
            rows=valid,
            begins_at_hour=rides.begins_at_hour,
        )
        stage.say("counting the rows that came out")
        handed_on = feed.handed_on(valid)
    sink = verify_sink(folder / "sink", valid)
    return Day(records=records, produced=rides.rows, broken=broken, handed_on=handed_on, sink=sink)
