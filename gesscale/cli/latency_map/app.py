"""The command group, and what its commands share: arguments, reading a map, errors in one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output, talk
from gesscale.errors import InputError
from latency_map import (
    Asymmetry,
    DelayKind,
    DelayUnit,
    Imported,
    LatencyMap,
    LatencyMapError,
    NoChoiceError,
    read_survey,
)

app = typer.Typer(
    help="Latency maps: import, check, repair, measure, look at them, choose nodes by them, emulate them. "
    "Unit and kind of delays are never guessed.",
    no_args_is_help=True,
)

NOT_FEASIBLE = 3

MapFile = Annotated[
    Path,
    typer.Argument(metavar="MAP", help="A latency map: the project's JSON, or any form that import reads."),
]
Unit = Annotated[
    DelayUnit | None, typer.Option("--unit", help="Unit of the delays, where the file does not say it.")
]
Kind = Annotated[
    DelayKind | None,
    typer.Option("--kind", help="Round trips, or one way (doubled), where the file does not say it."),
]
Symmetry = Annotated[
    Asymmetry, typer.Option("--asymmetry", help="What to do where the two directions of a pair differ.")
]
Form = Annotated[Output, typer.Option("--output", help="How to write the result.")]
MapTarget = Annotated[
    Path | None,
    typer.Option(
        "-o", "--map", metavar="MAP", help="Where the map is written; without it, to stdout as JSON."
    ),
]


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what latency_map raises on purpose into one line and an exit code."""
    try:
        yield
    except NoChoiceError as error:
        talk.print(f"not feasible: {error}", markup=False, highlight=False)
        raise typer.Exit(NOT_FEASIBLE) from None
    except LatencyMapError as error:
        raise InputError(str(error)) from None


def load_survey(file: Path, unit: DelayUnit | None, kind: DelayKind | None) -> Imported:
    """Read a survey and say on stderr what the file was taken for."""
    imported = read_survey(file, unit=unit, kind=kind)
    talk.print(f"{file} read as {imported.form.value}: {imported.reason}", markup=False, highlight=False)
    for warning in imported.warnings:
        talk.print(f"warning: {warning}", markup=False, highlight=False)
    return imported


def load_map(file: Path, unit: DelayUnit | None, kind: DelayKind | None, asymmetry: Asymmetry) -> LatencyMap:
    """Read a map that decisions can be made by, and say on stderr what the file was taken for."""
    return load_survey(file, unit, kind).survey.to_map(asymmetry)


def split_names(listing: str) -> list[str]:
    """Return the names in a listing separated by commas."""
    return [name.strip() for name in listing.split(",") if name.strip()]
