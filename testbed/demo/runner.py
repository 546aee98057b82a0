"""A demo on emulated nodes from beginning to end: rides, drivers, loop, report. Nothing of it stays behind."""

from pathlib import Path

from rich.console import Console

from gesscale.service.recorded import write_page
from testbed.demo.taxi import prepare_rides, run_taxi_day
from testbed.live.nodes import ProgressLog, verify_delays
from testbed.live.report import check_both_directions, check_nodes, check_rows, picks_nodes_at_random, write_report
from testbed.live.running import Setup
from testbed.live.scenario import Scenario
from testbed.pipeline.rides import bundled_demand


def run_demo(scenario: Scenario, folder: Path, console: Console, config: Path | None = None) -> bool:
    """Run a demo and report.

    Raises
    ------
    GesscaleError
        If something cannot be started; nothing stays behind.
    """
    setup = Setup.prepare(scenario, folder, ProgressLog(console), config)
    topology = setup.topology
    with setup.nodes():
        pairs = verify_delays(topology, setup.progress)
        rides = prepare_rides(bundled_demand(), scenario.share, scenario.copies, setup.progress.log)
        day = run_taxi_day(setup, rides)
    checks = []
    for record in day.records.values() if scenario.scaling_promised else ():
        checks.append(check_both_directions(record.rescales))
        if not picks_nodes_at_random(record.acted):
            checks.append(check_nodes(record.acted, topology.map, topology.driver_node))
    policy = setup.settings.analyze.policy
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
