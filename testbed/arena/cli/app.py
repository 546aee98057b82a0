"""The command group, and the arguments that its commands share."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output

app = typer.Typer(
    name="arena",
    help="Policies against each other on simulated nodes: the same loads, many seeds, intervals.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

ResultsFolderArgument = Annotated[
    Path, typer.Argument(metavar="RESULTS", help="A folder that `gesscale arena run --results` wrote.")
]
Form = Annotated[Output, typer.Option("--output", help="How to write the result.")]


@app.callback()
def _options() -> None:
    """Options of every arena command."""
