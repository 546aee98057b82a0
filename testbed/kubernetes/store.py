"""The store of a cluster's objects: etcd, or kine on SQLite as in k3s."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from gesscale.errors import ClusterError


class StoreKind(StrEnum):
    """The program that stores the objects."""

    ETCD = "etcd"
    KINE = "kine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The store of a cluster."""

    kind: StoreKind = StoreKind.ETCD
    #: How much longer each fsync takes, ms. None: kine waits for the disk as in k3s, etcd does not.
    fsync_ms: float | None = None

    def __str__(self) -> str:
        return f"{self.kind} with {self.fsync_ms:g} ms more per fsync" if self.fsync_ms else self.kind.value

    def command(self, command: Sequence[str], trace: Path) -> tuple[str, ...]:
        """Return the command line that starts it, given its program's. It writes each fsync to a file.

        Raises
        ------
        ClusterError
            If there is a delay and no strace.
        """
        if self.fsync_ms is None and self.kind is StoreKind.ETCD:
            return (*command, "--unsafe-no-fsync")
        if not self.fsync_ms:
            return tuple(command)
        strace = shutil.which("strace")
        if strace is None:
            raise ClusterError("strace-missing")
        calls = "fsync,fdatasync"
        expressions = ("signal=none", f"trace={calls}", f"inject={calls}:delay_enter={round(1000 * self.fsync_ms)}")
        options = [part for each in expressions for part in ("-e", each)]
        return (strace, "-D", "-f", "-qq", "-tt", "--seccomp-bpf", *options, "-o", str(trace), "--", *command)

    def save(self, file: Path) -> None:
        """Write it to a file."""
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, file: Path) -> "Store":
        """Read what `save` wrote."""
        described = json.loads(file.read_text(encoding="utf-8"))
        return cls(kind=StoreKind(described["kind"]), fsync_ms=described["fsync_ms"])


#: Of the test bed, unless another one is asked for.
ETCD = Store()
