"""Running kubectl."""

import json
import time
from collections.abc import Callable
from pathlib import Path

from gesscale.common.text import command_line
from gesscale.errors import ClusterError
from gesscale.kubernetes.resource.crd import definition
from testbed.cluster.commands import run

_SERVED_WITHIN_S = 240.0


def run_kubectl(
    program: Path, kubeconfig: Path, *arguments: str, given: str | None = None, timeout_s: float = 60.0
) -> str:
    """Run kubectl and return its output.

    Parameters
    ----------
    given
        What it reads from its standard input.

    Raises
    ------
    ClusterError
        Where it fails; the message holds what it wrote.
    """
    return run(
        (str(program), "--kubeconfig", str(kubeconfig), *arguments),
        failure=command_line(("kubectl", *arguments)),
        given=given,
        timeout_s=timeout_s,
    )


def define_autoscalers(kubectl: Callable[..., str]) -> None:
    """Apply the definition of StreamAutoscalers, and wait until the API server serves them.

    ``kubectl wait`` would fail at once on a definition that has no conditions yet.

    Parameters
    ----------
    kubectl
        Runs it, with ``given`` as its standard input.

    Raises
    ------
    ClusterError
        Where they are not served in time.
    """
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=json.dumps(definition()))
    deadline_s = time.monotonic() + _SERVED_WITHIN_S
    while True:
        try:
            kubectl("get", "streamautoscalers", "--all-namespaces")
        except ClusterError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.5)
        else:
            return


def create_namespace(kubectl: Callable[..., str], name: str) -> None:
    """Create a namespace, and wait until pods can be created in it: a controller adds its service account.

    Parameters
    ----------
    kubectl
        Runs it.

    Raises
    ------
    ClusterError
        Where it cannot be created, or has no service account in time.
    """
    kubectl("create", "namespace", name)
    timeout = f"--timeout={_SERVED_WITHIN_S:.0f}s"
    kubectl(
        "-n", name, "wait", "--for=create", "serviceaccount/default", timeout, timeout_s=_SERVED_WITHIN_S + 30
    )
