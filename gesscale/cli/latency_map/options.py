"""Arguments and options that commands on maps share, and how large a map may be."""

from contextvars import ContextVar
from pathlib import Path
from typing import Annotated

import typer

from latency_map.kinds import Asymmetry, DelayKind, DelayUnit

max_nodes_asked: ContextVar[int | None] = ContextVar("max_nodes_asked", default=None)
"""Most nodes of a map that is read, as the user asked; None where not."""

MapFile = Annotated[
    Path,
    typer.Argument(
        metavar="MAP",
        help="A latency map: the project's JSON, or any form that import reads; - for standard input.",
    ),
]
Unit = Annotated[
    DelayUnit | None, typer.Option("--unit", help="Unit of the delays, where the file does not say it.")
]
Kind = Annotated[
    DelayKind | None,
    typer.Option(
        "--kind", help="Round trips, or one way (both ways are added), where the file does not say it."
    ),
]
Symmetry = Annotated[
    Asymmetry | None,
    typer.Option(
        "--asymmetry",
        help="What to do where the two directions of a pair differ; by default the larger counts where the map"
        " says when it was measured, else it is refused.",
    ),
]
MapTarget = Annotated[
    Path | None,
    typer.Option("--to", metavar="MAP", help="Where the map is written; without it, to stdout as JSON."),
]

Offered = Annotated[
    str | None,
    typer.Option("--candidates", help="Nodes to choose from, by commas; by default those of --nodes or MAP."),
]
Exclude = Annotated[str, typer.Option("--exclude", help="Nodes that must be out, by commas.")]
Apart = Annotated[
    list[str] | None,
    typer.Option(
        "--apart",
        help="At most one of these nodes, by commas; or at most one for each value of this label of --nodes,"
        " such as zone. Can be given again. Nodes that are kept stay even so.",
    ),
]
NodesFile = Annotated[
    Path | None,
    typer.Option(
        "--nodes",
        metavar="FILE",
        help="What nodes there are: a list in YAML or JSON, or the output of kubectl get nodes -o json.",
    ),
]
PodsFile = Annotated[
    Path | None,
    typer.Option(
        "--pods", metavar="FILE", help="Output of kubectl get pods -A -o json: the room that is taken."
    ),
]
Arch = Annotated[str | None, typer.Option("--arch", help="Architecture that is needed, such as arm64.")]
Cpu = Annotated[str, typer.Option("--cpu", help="CPUs that must be free, such as 1 or 500m.")]
Memory = Annotated[str, typer.Option("--memory", help="Memory that must be free, such as 1Gi.")]
