"""Folders of results: each command goes on with its own, and touches no other."""

from collections.abc import Collection
from pathlib import Path

from gesscale.errors import InputError


def check_ours(folder: Path, *, mark: str, holds: str, leftovers: Collection[str] = ()) -> None:
    """Refuse a folder that holds something, and not what these results are known by.

    Raises
    ------
    InputError
        Where it is no folder, or holds something else.
    OSError
        Where it cannot be read.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"results {folder}: expected a folder, this is a file")
    held = {path.name for path in folder.iterdir()}
    others = sorted(held - {*leftovers}) if mark not in held else []
    if others:
        raise InputError(
            f"results {folder}: expected an empty folder or one {holds}, this holds something else: "
            f"{', '.join(others[:3])}; name another"
        )


def claim_folder(folder: Path, *, mark: str, holds: str, leftovers: Collection[str] = ()) -> None:
    """Make a folder of results, or go on with one; see `check_ours`.

    Raises
    ------
    InputError
        Where it holds something else, or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_ours(folder, mark=mark, holds=holds, leftovers=leftovers)
    except OSError as error:
        raise InputError(f"results {folder}: {error.strerror}; name a folder that can be written") from error
