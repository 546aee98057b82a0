"""System commands that are run to completion, and requests that are repeated until they succeed."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gesscale.common.errors import Problem
from gesscale.common.shell import command_line
from gesscale.errors import ClusterError, MetricsUnavailableError

TIMEOUT_S = 60.0
_MAX_OUTPUT_CHARACTERS = 2000
_FAILED = Problem("command-failed")
_PAUSE_S = 0.5


def run(
    command: Sequence[str],
    *,
    failure: Problem = _FAILED,
    timeout_s: float = TIMEOUT_S,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    stdin: str | None = None,
) -> str:
    """Run a command to completion and return its output.

    Parameters
    ----------
    failure
        Code and fields of the error if it fails; the fields ``command`` and ``cause`` are added.
    timeout_s
        Time limit, seconds.

    Raises
    ------
    ClusterError
        If it fails, times out, or is not installed.
    """
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        output = (
            error.stderr.strip() or error.stdout.strip() if isinstance(error, subprocess.CalledProcessError) else ""
        )
        cause = (output or str(error))[-_MAX_OUTPUT_CHARACTERS:]
        fields = {"command": command_line(command), **failure.fields, "cause": cause}
        raise ClusterError(failure.code, **fields) from error
    return done.stdout


def retry(request: Callable[[], object], timeout_s: float) -> None:
    """Repeat a request until it succeeds; raise its last error after the time limit.

    Raises
    ------
    ClusterError, MetricsUnavailableError
        If it does not succeed in time.
    """
    deadline_s = time.monotonic() + timeout_s
    while True:
        try:
            request()
        except (ClusterError, MetricsUnavailableError):
            if time.monotonic() > deadline_s:
                raise
            time.sleep(_PAUSE_S)
        else:
            return
