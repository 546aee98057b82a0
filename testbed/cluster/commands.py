"""System commands that run to their end."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from gesscale.common.shell import command_line
from gesscale.errors import ClusterError

TIMEOUT_S = 60.0
_MOST_CHARACTERS = 2000


def run(
    command: Sequence[str],
    *,
    failure: str = "",
    timeout_s: float = TIMEOUT_S,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    given: str | None = None,
) -> str:
    """Run a command to its end and return its output.

    Parameters
    ----------
    timeout_s
        The longest it may take, seconds.

    Raises
    ------
    ClusterError
        Where it fails, hangs, or is not installed.
    """
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env=environment,
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        written = (
            error.stderr.strip() or error.stdout.strip() if isinstance(error, subprocess.CalledProcessError) else ""
        )
        raise ClusterError(
            f"{failure or command_line(command)}: {(written or str(error))[-_MOST_CHARACTERS:]}"
        ) from error
    return done.stdout
