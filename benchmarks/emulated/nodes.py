"""Shared functions of the benchmarks on emulated nodes: nodes, batches of a driver, lines of results."""

import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from testbed.cluster import lifecycle, state
from testbed.cluster.topology import Topology, read_topology

NEAR_AND_FAR = ",home,near,far\nhome,0,8,20\nnear,8,0,12\nfar,20,12,0\n"
"""Round trips of three nodes, up to 20 ms."""


def written_topology(folder: Path, topology: str, delays: str) -> Topology:
    """Write a topology file, whose delays are ``map.csv``, and read it."""
    (folder / "map.csv").write_text(delays)
    (folder / "topology.yaml").write_text(topology)
    return read_topology(str(folder / "topology.yaml"))


@contextlib.contextmanager
def emulated_nodes(topology: str, delays: str = NEAR_AND_FAR) -> Iterator[tuple[Topology, Path]]:
    """Provide nodes and a folder for a run; SIGTERM ends the context cleanly.

    Parameters
    ----------
    topology
        As in a topology file; its delays are ``map.csv``.
    delays
        Those, as CSV.
    """
    end_in_order()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ[state.STATE_ROOT] = str(folder / "state")
        read = written_topology(folder, topology, delays)
        lifecycle.up(read)
        try:
            yield read, folder
        finally:
            lifecycle.down(read.name)


def end_in_order() -> None:
    """Clean up after SIGTERM; a second SIGTERM does not interrupt the clean-up."""
    signal.signal(signal.SIGTERM, _end)


def _end(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


def driver_document(address: str, port: int) -> dict[str, Any]:
    """Return the batches of a driver; empty if it does not respond."""
    with contextlib.suppress(OSError), urlopen(f"http://{address}:{port}/batches", timeout=5) as answer:
        return dict(json.load(answer))
    return {}


def append_result(figures: object, output: Path | None) -> None:
    """Print figures as a line of JSON, and add it to a file."""
    line = json.dumps(figures)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    if output is not None:
        with output.open("a", encoding="utf-8") as lines:
            lines.write(line + "\n")
