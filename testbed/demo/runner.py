"""Runs taxi rides through the operators of a workflow on emulated nodes, and reports on the day."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from rich.console import Console

from gesscale.service.recorded import write_page
from testbed.demo.taxi import prepare_rides, run_taxi_day
from testbed.live.job_runner import Setup
from testbed.live.nodes import ProgressLog, verify_delays
from testbed.live.report import check_rows, commands_for, row_counts, write_report
from testbed.live.scenario import Scenario
from testbed.pipeline.rides import bundled_demand


def run_workflow(
    scenario: Scenario,
    folder: Path,
    console: Console,
    config: Path | None = None,
    *,
    verbose: bool = False,
    hints: Mapping[str, str] = MappingProxyType({}),
) -> bool:
    """Run a day, report on it, and return whether each row is there once.

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
    policy = setup.settings.analyze.policy
    more = {
        "policy": policy,
        "cleaning": rides.cleaning,
        "delay_error_ms_max": max(abs(pair.error_ms or 0.0) for pair in pairs),
        "pairs": pairs,
    }
    kept = write_report(
        day.records,
        row_counts(day),
        check_rows(day),
        folder,
        console,
        more=more,
        hints={**commands_for(folder), **hints},
        verbose=verbose,
    )
    write_page(folder, folder / "page.html")
    return kept
