"""Programs of the project's environment, or of the same environment in the files of an image."""

import sys
from pathlib import Path


def program(name: str, root: Path | None) -> tuple[str, ...]:
    """Return the command that starts a program, such as ``python``.

    Parameters
    ----------
    name
        Of a program in the folder of the interpreter.
    root
        A folder that has an image's files; without it the environment that runs this.
    """
    if root is None:
        return (str(Path(sys.executable).with_name(name)),)
    return ("chroot", str(root), f"/opt/gesscale/bin/{name}")
