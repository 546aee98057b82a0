"""Common arguments and options of the commands on maps, and the limit of nodes."""

from contextvars import ContextVar
from pathlib import Path
from typing import Annotated

import typer

from latency_map.kinds import Asymmetry, DelayKind, DelayUnit

#: Largest number of nodes of a map that is read, as the user set it; None for the default.
max_nodes_option: ContextVar[int | None] = ContextVar("max_nodes_option", default=None)

MapFile = Annotated[
    Path,
    typer.Argument(
        metavar="MAP", help="A latency map: native JSON, or any format that import reads; - for standard input."
    ),
]
Unit = Annotated[
    DelayUnit | None,
    typer.Option("--unit", help="Unit of the delays, if the file does not state it; overrules a heading."),
]
Kind = Annotated[
    DelayKind | None,
    typer.Option("--kind", help="Round trips, or one way (both ways are added), if the file does not state it."),
]
Symmetry = Annotated[
    Asymmetry | None,
    typer.Option(
        "--asymmetry",
        help="Treatment of pairs whose two directions differ. Default: max if the map has its time of measurement, "
        "else refuse.",
    ),
]
MapTarget = Annotated[
    Path | None, typer.Option("--to", metavar="MAP", help="File of the map; by default it goes to stdout as JSON.")
]
