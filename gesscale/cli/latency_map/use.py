"""``latency-map choose``, ``nearest``, ``farthest``, ``plan``: their options."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.latency_map.arguments import (
    Apart,
    Arch,
    Cpu,
    Device,
    Exclude,
    For,
    Kind,
    MapFile,
    Measured,
    Memory,
    NodesFile,
    Offered,
    PodNetworks,
    PodsFile,
    Rate,
    SkipMissing,
    Symmetry,
    Unit,
)
from gesscale.cli.output import Output, OutputOption
from latency_map.emulate.defaults import DEVICE, RATE_MBIT
from latency_map.kinds import Method

HowFar = Annotated[
    Method,
    typer.Option(
        "--method",
        help="Exact, greedy with a certified gap, or auto: exact up to 60 candidates, then greedy.",
    ),
]


def choose(
    file: MapFile,
    *,
    size: Annotated[int | None, typer.Option("--size", help="How many nodes, those kept included.")] = None,
    capacity: Annotated[
        float | None,
        typer.Option(
            "--capacity",
            help="Instead of --size: what the nodes must hold together, by their weights in --nodes"
            " (of kubectl: free CPUs).",
        ),
    ] = None,
    unit: Unit = None,
    kind: Kind = None,
    keep: Annotated[str, typer.Option("--keep", help="Nodes that must be in, by commas.")] = "",
    running: Annotated[
        str,
        typer.Option("--running", help="Nodes in use, by commas: kept, and what moving would save is said."),
    ] = "",
    exclude: Exclude = "",
    candidates: Offered = None,
    apart: Apart = None,
    nodes: NodesFile = None,
    pods: PodsFile = None,
    arch: Arch = None,
    cpu: Cpu = "",
    memory: Memory = "",
    method: HowFar = Method.AUTO,
    asymmetry: Symmetry = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Choose the nodes with the least NDmax; exit code 3 where no such set is possible."""
    from gesscale.cli.latency_map.choosing import choose_nodes

    choose_nodes(
        file=file,
        size=size,
        capacity=capacity,
        unit=unit,
        kind=kind,
        keep=keep,
        running=running,
        exclude=exclude,
        candidates=candidates,
        apart=apart,
        nodes=nodes,
        pods=pods,
        arch=arch,
        cpu=cpu,
        memory=memory,
        method=method,
        asymmetry=asymmetry,
        output=output,
    )


Members = Annotated[
    str, typer.Option("--members", help="Nodes of the placement, by commas; the driver's too.")
]


def nearest(
    file: MapFile,
    *,
    members: Members,
    unit: Unit = None,
    kind: Kind = None,
    candidates: Offered = None,
    exclude: Exclude = "",
    apart: Apart = None,
    nodes: NodesFile = None,
    pods: PodsFile = None,
    arch: Arch = None,
    cpu: Cpu = "",
    memory: Memory = "",
    asymmetry: Symmetry = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Rank the nodes to add: least largest round trip to a member, then least mean, then name."""
    from gesscale.cli.latency_map.ranking import rank_nearest_nodes

    rank_nearest_nodes(
        file=file,
        members=members,
        unit=unit,
        kind=kind,
        candidates=candidates,
        exclude=exclude,
        apart=apart,
        nodes=nodes,
        pods=pods,
        arch=arch,
        cpu=cpu,
        memory=memory,
        asymmetry=asymmetry,
        output=output,
    )


def rank_farthest(
    file: MapFile,
    *,
    members: Members,
    unit: Unit = None,
    kind: Kind = None,
    removable: Annotated[
        str,
        typer.Option(
            "--candidates", "--removable", help="Members that may go, by commas; all of them by default."
        ),
    ] = "",
    asymmetry: Symmetry = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Rank the nodes to remove: greatest largest round trip to another member, then mean, then name."""
    from gesscale.cli.latency_map.ranking import rank_farthest_nodes

    rank_farthest_nodes(
        file=file,
        members=members,
        unit=unit,
        kind=kind,
        removable=removable,
        asymmetry=asymmetry,
        output=output,
    )


class PlanForm(StrEnum):
    """How a plan is written."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    SH = "sh"


def plan(
    file: MapFile,
    *,
    unit: Unit = None,
    kind: Kind = None,
    asymmetry: Symmetry = None,
    addresses: Annotated[
        Path | None,
        typer.Option(
            "--addresses", metavar="HOSTS", help="Where the nodes are: CSV or YAML, name and address."
        ),
    ] = None,
    subnet: Annotated[
        str | None, typer.Option("--subnet", help="Or a network whose addresses they have in their order.")
    ] = None,
    device: Device = DEVICE,
    measured: Measured = None,
    rate_mbit: Rate = RATE_MBIT,
    skip_missing: SkipMissing = False,
    keep_for: For = None,
    pod_networks: PodNetworks = False,
    node: Annotated[str | None, typer.Option("--node", help="Of this node only.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Write what takes the delays away.")] = False,
    directory: Annotated[
        Path | None,
        typer.Option("--directory", help="Write apply-NODE.sh and undo-NODE.sh of every node there."),
    ] = None,
    output: Annotated[
        PlanForm,
        typer.Option("--output", "-o", help="How the result is written; sh is the script of one node."),
    ] = PlanForm.TABLE,
) -> None:
    """Write the tc commands with which each node delays its packets to every other as the map says.

    Half of each round trip is added on either side; packets to other addresses are not touched.
    """
    from gesscale.cli.latency_map.emulating import write_plan

    write_plan(
        file=file,
        unit=unit,
        kind=kind,
        asymmetry=asymmetry,
        addresses=addresses,
        subnet=subnet,
        device=device,
        measured=measured,
        rate_mbit=rate_mbit,
        skip_missing=skip_missing,
        keep_for=keep_for,
        pod_networks=pod_networks,
        node=node,
        undo=undo,
        directory=directory,
        output=output,
    )
