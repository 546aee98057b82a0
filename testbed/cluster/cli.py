"""``testbed up``, ``prepare``, ``check``, ``status``, ``down``: their options."""

from typing import Annotated

import typer

from gesscale.cli.output import Output, OutputOption
from testbed.cluster.delay_backend import DelayBackend
from testbed.kubernetes.cli import ClusterName


def up(
    topology: Annotated[str, typer.Argument(help="A topology file, or the name of a bundled one.")] = "edge8",
    delays: Annotated[DelayBackend, typer.Option(help="What makes the delays.")] = DelayBackend.AUTO,
    output: OutputOption = Output.TABLE,
) -> None:
    """Bring a cluster up; does nothing where it is up and well."""
    from testbed.cluster.upkeep import bring_up

    bring_up(topology=topology, delays=delays, output=output)


def prepare() -> None:
    """Make once what saves time later: the compiled relay, the archive of Spark's classes (half a minute)."""
    from testbed.cluster.upkeep import prepare_once

    prepare_once()


def check(
    name: ClusterName = None,
    count: Annotated[int, typer.Option(min=1, max=100, help="Echoes per pair of nodes.")] = 5,
    output: OutputOption = Output.TABLE,
) -> None:
    """Measure every pair of nodes against the map; exits 3 beyond 2 ms or 5 %."""
    from testbed.cluster.upkeep import check_delays

    check_delays(name=name, count=count, output=output)


def status(name: ClusterName = None, output: OutputOption = Output.TABLE) -> None:
    """Show nodes and processes of a cluster; exits 3 where something is wrong with it."""
    from testbed.cluster.upkeep import show_status

    show_status(name=name, output=output)


def down(
    name: ClusterName = None,
    all_: Annotated[bool, typer.Option("--all", help="All clusters of this user.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Take a cluster down, and whatever a crash left of it; nothing to do is no error."""
    from testbed.cluster.upkeep import take_down

    take_down(name=name, all_=all_, output=output)
