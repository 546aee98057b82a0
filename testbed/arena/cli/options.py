"""Shared arguments of the arena's commands, and their completion in a shell.

A shell waits for completion at each TAB, so this module imports nothing slow.
"""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.options import complete_prefix, installed_policies
from gesscale.common.errors import InvalidValueError
from gesscale.errors import InputError
from gesscale.validation import located
from testbed.arena.names import PERFECT_FORESIGHT

ResultsFolderArgument = Annotated[
    Path, typer.Argument(metavar="RESULTS", help="A folder that `gesscale arena run --results` wrote.")
]


def duration_s(option: str, text: str) -> float:
    """Parse the duration of an option, seconds.

    Raises
    ------
    InputError
        If it is not a duration; names the option.
    """
    from gesscale.fields import parse_duration_s

    try:
        return parse_duration_s(text)
    except InvalidValueError as error:
        raise InputError(located(error.problems, option)) from None


def with_absolute_files(names: Sequence[str]) -> list[str]:
    """Return names with the paths of files made absolute, so that they are valid from any directory."""
    absolute = []
    for name in filter(None, (name.strip() for name in names)):
        file, colon, rest = name.partition(":")
        absolute.append(f"{Path(file).resolve()}{colon}{rest}" if file and Path(file).is_file() else name)
    return absolute


def complete_policies(incomplete: str) -> list[str]:
    """Complete the last of comma-separated policies."""
    before, comma, last = incomplete.rpartition(",")
    return [
        f"{before}{comma}{name}" for name in complete_prefix(last, {"all", *PERFECT_FORESIGHT, *installed_policies()})
    ]


def complete_workload(incomplete: str) -> list[str]:
    """Complete the name of a workload."""
    from testbed.workloads.catalogue import entries

    return complete_prefix(incomplete, [entry.name for entry in entries()])


def complete_experiment(incomplete: str) -> list[str]:
    """Complete the name of a bundled experiment."""
    bundled = (file.name for file in files("testbed.arena.experiments").iterdir())
    return complete_prefix(incomplete, (name.removesuffix(".yaml") for name in bundled if name.endswith(".yaml")))
