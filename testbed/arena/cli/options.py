"""What the commands of the arena share: arguments, and what a shell may complete.

A shell waits for completion at each TAB, so nothing is imported that takes long.
"""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.options import beginning, installed_policies
from gesscale.errors import InputError
from testbed.arena.names import PERFECT_FORESIGHT

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
    from gesscale.fields import parse_duration_s

    try:
        return parse_duration_s(text)
    except ValueError as error:
        raise InputError(f"{option}: {error}, got {text!r}") from None


def files_placed(names: Sequence[str]) -> list[str]:
    """Return names, those of files by their whole path, so that they mean the same from anywhere."""
    placed = []
    for name in filter(None, (name.strip() for name in names)):
        file, colon, rest = name.partition(":")
        placed.append(f"{Path(file).resolve()}{colon}{rest}" if file and Path(file).is_file() else name)
    return placed


def complete_policies(incomplete: str) -> list[str]:
    """Complete the last of some policies by commas."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in beginning(last, {"all", *PERFECT_FORESIGHT, *installed_policies()})]


def complete_workload(incomplete: str) -> list[str]:
    """Complete the name of a workload."""
    from testbed.workloads.catalogue import entries

    return beginning(incomplete, [entry.name for entry in entries()])


def complete_experiment(incomplete: str) -> list[str]:
    """Complete the name of an experiment that comes with the arena."""
    bundled = (file.name for file in files("testbed.arena.experiments").iterdir())
    return beginning(incomplete, (name.removesuffix(".yaml") for name in bundled if name.endswith(".yaml")))
