"""An API server that is killed and started again while clients watch it."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from waiting import until

from testbed.cluster import processes, state


@contextlib.contextmanager
def stopped_api_server(cluster) -> Iterator[None]:
    """Kill the API server, start it again with its state, and wait until it answers."""
    cluster.in_control_plane(("true",))  # skips where the cluster is not ours
    folder = str(state.state_directory(cluster.topology.name))
    (found,) = [each for each in processes.find(folder) if each.mark.operator == "kube-apiserver" and each.started]
    command = Path(f"/proc/{found.pid}/cmdline").read_bytes().decode().split("\0")[:-1]
    os.kill(found.pid, signal.SIGKILL)
    try:
        yield
    finally:
        processes.start(
            cluster.in_control_plane(command),
            found.mark,
            environment=processes.base_environment(),
            log=cluster.files.log("kube-apiserver"),
        )
        ready = ("get", "--raw", "/readyz")
        until(lambda: cluster.run_kubectl(*ready, timeout_s=10) == "ok", "the API server is ready again")
