"""The arguments that the commands of the arena share."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.errors import InputError
from gesscale.fields import parse_duration_s

ResultsFolderArgument = Annotated[
    Path, typer.Argument(metavar="RESULTS", help="A folder that `gesscale arena run --results` wrote.")
]


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
