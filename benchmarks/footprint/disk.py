"""Writes to the disk of a store, and the leases of nodes, which cause most of them without a controller."""

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.resources import LEASES

NODE_LEASE_S = 10.0


@contextmanager
def renewed_leases(connection: Connection, nodes: list[str]) -> Iterator[list[float]]:
    """Renew the lease of each node as its kubelet does, until the context ends; yield how long each renewal took, s."""
    took_s: list[float] = []
    ended = threading.Event()
    where = {"namespace": "kube-node-lease"}
    for node in nodes:
        connection.create(LEASES, {"metadata": {"name": node}, "spec": {"leaseDurationSeconds": 40}}, **where)

    def renew() -> None:
        while True:
            for node in nodes:
                if ended.wait(NODE_LEASE_S / len(nodes)):
                    return
                now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
                began_s = time.monotonic()
                connection.patch(LEASES, node, {"spec": {"holderIdentity": node, "renewTime": now}}, **where)
                took_s.append(time.monotonic() - began_s)

    renewing = threading.Thread(target=renew)
    renewing.start()
    try:
        yield took_s
    finally:
        ended.set()
        renewing.join()


class Written:
    """Counts what is written to the device of a file system, from its creation on."""

    def __init__(self, disk: Path) -> None:
        self.disk, self.began_s = disk, time.monotonic()
        self.began = self._bytes()

    def _bytes(self) -> int:
        subprocess.run(("sync", "--file-system", self.disk), check=True)
        device = self.disk.stat().st_dev
        sectors = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat").read_text().split()[6]
        return 512 * int(sectors)

    def mib_per_hour(self) -> float:
        """Return the rate so far."""
        written = self._bytes() - self.began
        return round(written / 2**20 * 3600 / (time.monotonic() - self.began_s), 1)
