"""Checks on the folder of a command's results, so that no command overwrites another one's files."""

from collections.abc import Collection
from pathlib import Path

from gesscale.common.errors import cause_of
from gesscale.errors import InputError


def check_results_folder(folder: Path, *, mark: str, leftovers: Collection[str] = ()) -> None:
    """Reject a folder that is not empty and lacks the file by which these results are recognised.

    Parameters
    ----------
    mark
        Name of that file.
    leftovers
        Files that an interrupted start may leave; a folder with nothing else counts as empty.

    Raises
    ------
    InputError
        If it is not a folder, or holds other files.
    OSError
        If it cannot be read.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError("results-not-directory", source=str(folder))
    present = {path.name for path in folder.iterdir()}
    foreign = sorted(present - {*leftovers}) if mark not in present else []
    if foreign:
        raise InputError("results-folder-foreign", source=str(folder), expected=mark, found=foreign)


def claim_results_folder(folder: Path, *, mark: str, leftovers: Collection[str] = ()) -> None:
    """Create a folder of results, or accept an existing one; see `check_results_folder`.

    Raises
    ------
    InputError
        If it holds other files, or cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_results_folder(folder, mark=mark, leftovers=leftovers)
    except OSError as error:
        raise InputError("results-folder-unwritable", source=str(folder), cause=cause_of(error)) from error
