"""Directories that only this user may enter: made so, and refused where they are not.

Whoever may write to the folder around one, as all may to the system's temporary folder, can be there first, with a
symbolic link or with a directory that others can change. Nothing is read, written or deleted in such a directory.
"""

import contextlib
import os
import stat
from pathlib import Path

from gesscale.common.text import command_line
from gesscale.errors import ClusterError

MODE = 0o700
STATE_ROOT = "GESSCALE_TESTBED_STATE"
"""The variable that names another directory for what is kept of clusters."""


def make_private(path: Path) -> Path:
    """Make a directory of this user's own unless it is there; return it.

    Raises
    ------
    ClusterError
        It cannot be made, or what is there is not this user's own.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=MODE)
    except OSError as error:
        raise _unusable(path, error) from error
    return require_private(path)


def require_private(path: Path) -> Path:
    """Refuse what is there unless it is a directory of this user's own; return the path, also where nothing is.

    Raises
    ------
    ClusterError
        It is a symbolic link, no directory, another user's, or open to others.
    """
    try:
        _check(path, path.lstat())
    except FileNotFoundError:
        return path
    except OSError as error:
        raise _unusable(path, error) from error
    return path


def open_private(path: Path) -> int:
    """Open a directory of this user's own; return its descriptor, which stays this very directory.

    Raises
    ------
    FileNotFoundError
        It is not there.
    ClusterError
        As `require_private`.
    """
    require_private(path)  # says more than the system does of a link that it does not follow
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        _check(path, os.fstat(descriptor))
    except ClusterError:
        os.close(descriptor)
        raise
    return descriptor


def _check(path: Path, status: os.stat_result) -> None:
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        found, advice = "is a symbolic link", f"run: {command_line(('rm', str(path)))}"
    elif not stat.S_ISDIR(status.st_mode):
        found, advice = "is no directory", "move it away"
    elif status.st_uid != os.geteuid():
        found, advice = "belongs to another user", "ask them to remove it"
    elif mode & 0o777 != MODE:
        found, advice = (
            f"has mode {mode:04o}",
            f"if all in it is yours, run: {command_line(('chmod', '700', str(path)))}",
        )
    else:
        return
    message = (
        f"expected {path} to be a directory of your own with mode 0700, it {found}; {advice}, or set {STATE_ROOT} to"
        " another directory"
    )
    raise ClusterError(message)


def _unusable(path: Path, error: OSError) -> ClusterError:
    return ClusterError(f"cannot use {path}: {error}; set {STATE_ROOT} to a directory of your own")
