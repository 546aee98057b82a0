"""The arguments that the commands of the arena share."""

from collections.abc import Sequence
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
        message = f"{option}: {error}, got {text!r}"
        raise InputError(message) from None


def files_placed(names: Sequence[str]) -> list[str]:
    """Return names, those of files by their whole path, so that they mean the same from anywhere."""
    placed = []
    for name in filter(None, (name.strip() for name in names)):
        file, colon, rest = name.partition(":")
        placed.append(f"{Path(file).resolve()}{colon}{rest}" if file and Path(file).is_file() else name)
    return placed
