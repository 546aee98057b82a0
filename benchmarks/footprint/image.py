"""Finds programs in the project's environment, or in the files of an image."""

import sys
from pathlib import Path


def program(name: str, root: Path | None) -> tuple[str, ...]:
    """Return the command that starts a program, such as ``python``.

    Parameters
    ----------
    name
        Name of a program in the folder of the interpreter.
    root
        Folder with an image's files; None for the environment of this process.
    """
    if root is None:
        return (str(Path(sys.executable).with_name(name)),)
    return ("chroot", str(root), f"/opt/gesscale/bin/{name}")
