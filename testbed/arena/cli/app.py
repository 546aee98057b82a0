"""The command group, and the arguments that its commands share."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output
from gesscale.errors import InputError
from gesscale.fields import parse_duration_s

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


def duration_s(option: str, text: str) -> float:
    """Read the duration that an option was given, seconds.

    Raises
    ------
    InputError
        Where it is none; names the option.
    """
    try:
        return parse_duration_s(text)
    except ValueError as error:
        message = f"{option}: {error}"
        raise InputError(message) from None
