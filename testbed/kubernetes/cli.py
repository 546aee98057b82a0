"""``testbed kubernetes``: its commands and their options."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output, OutputOption

app = typer.Typer(
    name="kubernetes",
    help="A real Kubernetes on an emulated edge: control plane and kubelets on this machine, without Docker.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

ClusterName = Annotated[
    str | None, typer.Argument(help="Name of the cluster; may be left out where there is one.")
]


@app.command(epilog="Example: testbed kubernetes build")
def build() -> None:
    """Build Kubernetes from its sources, once; some minutes, and 4 GB of Go's caches on disk."""
    from testbed.kubernetes.upkeep import build_once

    build_once()


@app.command(epilog="Example: testbed kubernetes up kube3")
def up(
    topology: Annotated[str, typer.Argument(help="A topology file, or the name of a bundled one.")] = "kube3",
    output: OutputOption = Output.TABLE,
) -> None:
    """Bring a Kubernetes up; does nothing where it is up and well."""
    from testbed.kubernetes.upkeep import bring_up

    bring_up(topology=topology, output=output)


@app.command(epilog="Example: testbed kubernetes demo")
def demo(
    folder: Annotated[
        Path, typer.Option(help="Where the sink, the logs and the map go; emptied first.")
    ] = Path("reports/kubernetes"),
) -> None:
    """Scale a day of taxi rides on three kubelets of this machine; about eight minutes. Exits 1 at a broken promise."""
    from testbed.kubernetes.upkeep import play_demo

    play_demo(folder=folder)


@app.command(epilog="Example: testbed kubernetes status")
def status(name: ClusterName = None, output: OutputOption = Output.TABLE) -> None:
    """Show the nodes of a Kubernetes; exits 3 where one is not ready."""
    from testbed.kubernetes.upkeep import show_status

    show_status(name=name, output=output)


@app.command(epilog="Example: testbed kubernetes down")
def down(name: ClusterName = None, output: OutputOption = Output.TABLE) -> None:
    """Take a Kubernetes down, and whatever a crash left of it; nothing to do is no error."""
    from testbed.kubernetes.upkeep import take_down

    take_down(name=name, output=output)
