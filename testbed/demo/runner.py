"""Runs a demo on emulated nodes: rides, drivers, loop, report. It cleans up after itself."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from rich.console import Console

from gesscale.service.recorded import write_page
from testbed.demo.taxi import prepare_rides, run_taxi_day
from testbed.live.job_runner import Setup
from testbed.live.nodes import ProgressLog, verify_delays
from testbed.live.report import (
    LATE_SHARE,
    check_both_directions,
    check_nodes,
    check_row_age,
    check_rows,
    picks_nodes_at_random,
    write_report,
)
from testbed.live.scenario import Scenario
from testbed.pipeline.rides import bundled_demand


def run_demo(
    scenario: Scenario,
    folder: Path,
    console: Console,
    config: Path | None = None,
    *,
    verbose: bool = False,
    hints: Mapping[str, str] = MappingProxyType({}),
) -> bool:
    """Run a demo, report on it, and return whether it kept all promises.

    Raises
    ------
    GesscaleError
        If a component cannot be started; everything is cleaned up.
    """
    setup = Setup.prepare(scenario, folder, ProgressLog(console, verbose=verbose), config)
    topology = setup.topology
    with setup.nodes():
        pairs = verify_delays(topology, setup.progress)
        rides = prepare_rides(bundled_demand(), scenario.share, scenario.copies, setup.progress.log)
        day = run_taxi_day(setup, rides)
    checks = []
    for record in day.records.values() if scenario.scaling_promised else ():
        checks.append(check_both_directions(record.rescales))
        checks.append(check_row_age(record, LATE_SHARE * scenario.day_s))
        if not picks_nodes_at_random(record.acted):
            checks.append(check_nodes(record.acted, topology.map, topology.driver_node))
    policy = setup.settings.analyze.policy
    more = {
        "policy": policy,
        "cleaning": rides.cleaning,
        "delay_error_ms_max": max(abs(pair.error_ms or 0.0) for pair in pairs),
        "pairs": pairs,
    }
    commands = {
        "page with a time slider": f"{folder}/page.html",
        "explain the decisions": f"gesscale explain -c {folder}/gesscale.yaml",
        "replay with another policy": f"gesscale replay {folder} --policy NAME",
        **hints,
    }
    checks += check_rows(day)
    kept = write_report(day, checks, folder, console, more=more, hints=commands, verbose=verbose)
    write_page(folder, folder / "page.html")
    return kept
