"""A run from beginning to end: nodes, rides, the day, the verdict. Nothing of it stays behind."""

from pathlib import Path

from rich.console import Console

from gesscale.errors import InputError
from gesscale.settings import Settings, load_settings
from testbed.cluster.topology import Topology, read_topology
from testbed.demo.rides import prepare_rides
from testbed.demo.scenario import write_settings
from testbed.demo.stage import Stage, checked_pairs, edge_nodes
from testbed.two_operators.day import play_day
from testbed.two_operators.report import write_report
from testbed.two_operators.scenario import Scenario


def play(scenario: Scenario, folder: Path, console: Console, config: Path | None = None) -> bool:
    """Run the workflow through a day and report.

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
        Whether every valid row went through both operators, and each once.

    Raises
    ------
    GesscaleError
        When something cannot be started; nothing stays behind.
    """
    stage = Stage(console)
    topology = read_topology(scenario.topology)
    settings = prepare_settings(scenario, topology, folder, config)
    with edge_nodes(topology, scenario.topology, stage):
        checked_pairs(topology, stage)
        rides = prepare_rides(scenario.share, 1, stage.say)
        day = play_day(scenario, settings, topology, rides, folder, stage)
    return write_report(day, scenario, settings.analyze.policy, folder, console)


def prepare_settings(
    scenario: Scenario, topology: Topology, folder: Path, config: Path | None = None
) -> Settings:
    """Write the settings of the loop into the report's folder, as a user would, and load them.

    Raises
    ------
    InputError
        When they cannot be used, or are those of other operators.
    """
    text = scenario.settings(topology) if config is None else config.read_text("utf-8")
    settings = load_settings(write_settings(text, folder, topology))
    wanted = {operator.name for operator in scenario.operators}
    if settings.workflow.operators.keys() != wanted:
        message = (
            f"{config}: expected settings of the operators {', '.join(sorted(wanted))}, got "
            f"{', '.join(sorted(settings.workflow.operators))}; begin with those that an earlier run left"
        )
        raise InputError(message)
    return settings
