"""The command line's answers where no cluster is touched."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from gesscale.errors import InputError
from testbed.cluster.adapter import open_local_cluster


@pytest.mark.parametrize("arguments", [("up", "nowhere"), ("up", "edge8", "--delays", "snail"), ("fly",)])
def test_wrong_input_exits_2_without_a_traceback(
    gesscale: Callable[..., tuple[int, str, str]], arguments: tuple[str, ...]
) -> None:
    code, out, message = gesscale("testbed", *arguments)
    assert (code, out) == (2, "")
    assert message.strip()


def test_help_tells_the_commands_and_exit_codes() -> None:
    done = subprocess.run(
        (sys.executable, "-m", "testbed", "--help"), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert all(word in done.stdout for word in ("up", "check", "status", "down", "prepare", "Exit codes"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"topologie": "edge8"}, "expected only topology for cluster local, got topologie"),
        ({"first_task_timeout_s": "5"}, "expected only topology for cluster local, got first_task_timeout_s"),
    ],
)
def test_wrong_options_of_the_local_cluster_are_said(options: dict[str, str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        open_local_cluster(options)
