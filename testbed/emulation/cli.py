"""``testbed apply``: its options."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.latency_map.arguments import (
    Device,
    For,
    Kind,
    Measured,
    PodNetworks,
    Rate,
    SkipMissing,
    Symmetry,
    Unit,
)
from gesscale.cli.output import Output
from latency_map.emulate.defaults import DEVICE, RATE_MBIT
from testbed.emulation.defaults import IMAGE, NAMESPACE


def apply(
    file: Annotated[
        Path | None, typer.Argument(metavar="MAP", help="A latency map; not needed for --undo.")
    ] = None,
    *,
    hosts: Annotated[
        Path,
        typer.Option(
            "--hosts",
            "--addresses",
            "--nodes",
            metavar="HOSTS",
            help="CSV or YAML with name, address and, where needed, device, user, port, ssh;"
            " or what kubectl get nodes -o json prints.",
        ),
    ],
    ssh: Annotated[bool, typer.Option("--ssh", help="Log in to every node and run its script.")] = False,
    daemonset: Annotated[
        bool, typer.Option("--daemonset", help="Write a manifest for kubectl apply -f - instead.")
    ] = False,
    unit: Unit = None,
    kind: Kind = None,
    asymmetry: Symmetry = None,
    device: Device = DEVICE,
    measured: Measured = None,
    rate_mbit: Rate = RATE_MBIT,
    skip_missing: SkipMissing = False,
    pod_networks: PodNetworks = False,
    user: Annotated[str | None, typer.Option("--user", help="Who logs in.")] = None,
    port: Annotated[int | None, typer.Option("--port", min=1, max=65535, help="At which port.")] = None,
    identity: Annotated[Path | None, typer.Option("--identity", help="With which private key.")] = None,
    ssh_config: Annotated[
        Path | None, typer.Option("--ssh-config", help="An ssh_config file to use instead of yours.")
    ] = None,
    sudo: Annotated[
        bool | None,
        typer.Option(
            "--sudo/--no-sudo", help="Whether to use sudo -n; by default where the login is not root."
        ),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take the delays away again.")] = False,
    keep_for: For = None,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Measure every pair afterwards.")] = True,
    count: Annotated[int, typer.Option("--count", min=1, max=100, help="Echoes per pair of nodes.")] = 5,
    namespace: Annotated[str, typer.Option("--namespace", help="Of the DaemonSet.")] = NAMESPACE,
    image: Annotated[str, typer.Option("--image", help="Of the DaemonSet, with sh and tc.")] = IMAGE,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="How to write the measured pairs.")
    ] = Output.TABLE,
) -> None:
    """Delay what real nodes send to each other as a map says, and measure every pair; exits 3 beyond 2 ms or 5 %.

    All nodes are looked at before any is changed; where one fails, the others are undone.
    """
    from testbed.emulation.applying import apply_map

    apply_map(
        file=file,
        hosts=hosts,
        ssh=ssh,
        daemonset=daemonset,
        unit=unit,
        kind=kind,
        asymmetry=asymmetry,
        device=device,
        measured=measured,
        rate_mbit=rate_mbit,
        skip_missing=skip_missing,
        pod_networks=pod_networks,
        user=user,
        port=port,
        identity=identity,
        ssh_config=ssh_config,
        sudo=sudo,
        undo=undo,
        keep_for=keep_for,
        check=check,
        count=count,
        namespace=namespace,
        image=image,
        output=output,
    )
