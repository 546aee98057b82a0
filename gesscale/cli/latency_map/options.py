"""Arguments and options that commands on maps share, and how large a map may be."""

from contextvars import ContextVar
from pathlib import Path
from typing import Annotated

import typer

from latency_map.kinds import Asymmetry, DelayKind, DelayUnit

#: Most nodes of a map that is read, as the user asked; None where not.
max_nodes_asked: ContextVar[int | None] = ContextVar("max_nodes_asked", default=None)

MapFile = Annotated[
    Path,
    typer.Argument(
        metavar="MAP", help="A latency map: the project's JSON, or any form that import reads; - for standard input."
    ),
]
Unit = Annotated[DelayUnit | None, typer.Option("--unit", help="Unit of the delays, where the file does not say it.")]
Kind = Annotated[
    DelayKind | None,
    typer.Option("--kind", help="Round trips, or one way (both ways are added), where the file does not say it."),
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
    Path | None, typer.Option("--to", metavar="MAP", help="Where the map is written; without it, to stdout as JSON.")
]
