"""A cluster adapter in a hundred lines: a replica is a process that your command starts.

The state is a folder with a file for each replica, ``FOLDER/OPERATOR/NODE``, which contains the process id. So a loop
that is restarted finds its replicas. Errors have codes that gesscale's catalogue lacks, with the message in ``text``.
"""

import os
import shlex
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gesscale.errors import ClusterError, InputError
from gesscale.model.decision import Outcome, OutcomeStatus
from gesscale.ports import ClusterState, Node

OPTIONS = ("folder", "nodes", "start")


@dataclass(frozen=True, slots=True)
class ProcessCluster:
    """Starts replicas with a command, and stops them with SIGTERM.

    Attributes
    ----------
    folder
        Folder of the state, with a folder for each operator.
    nodes
        Names of the nodes in the latency map.
    start
        Command of a replica, with the placeholders ``{operator}`` and ``{node}``.
    """

    folder: Path
    nodes: tuple[str, ...]
    start: str

    def state(self) -> ClusterState:
        """Return the nodes and the live replicas."""
        try:
            operators = sorted(path.name for path in self.folder.iterdir() if path.is_dir())
        except OSError as error:
            text = f"{error.strerror}; create it, with a folder for each operator"
            raise ClusterError("process-folder-unreadable", source=self.folder, text=text) from error
        return ClusterState(
            nodes={name: Node(name=name) for name in self.nodes},
            placements={operator: self._placement(operator) for operator in operators},
        )

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Start and stop the replicas that differ from the placement."""
        if not (self.folder / operator).is_dir():
            text = f"no folder for operator {operator!r}; create it"
            raise ClusterError("process-operator-unknown", source=self.folder, text=text)
        if unknown := sorted(set(placement) - set(self.nodes)):
            text = f"expected nodes of {', '.join(self.nodes)}, got {', '.join(unknown)}"
            raise ClusterError("process-node-unknown", nodes=unknown, text=text)
        present = self._placement(operator)
        added = tuple(node for node in placement if node not in present)
        removed = tuple(node for node in present if node not in placement)
        for node in added:
            self._start(operator, node)
        for node in removed:
            self._stop(operator, node)
        status = OutcomeStatus.APPLIED if added or removed else OutcomeStatus.NOTHING_TO_DO
        return Outcome(status=status, added=added, removed=removed)

    def _placement(self, operator: str) -> tuple[str, ...]:
        files = sorted((self.folder / operator).iterdir())
        return tuple(file.name for file in files if _lives(int(file.read_text())))

    def _start(self, operator: str, node: str) -> None:
        words = [word.format(operator=operator, node=node) for word in shlex.split(self.start)]
        try:
            process = os.posix_spawnp(words[0], words, os.environ, setpgroup=0)  # Ctrl-C of the loop must not stop it
        except OSError as error:
            text = f"cannot start a replica of {operator!r} on {node}: {error}"
            raise ClusterError("process-not-started", operator=operator, node=node, text=text) from error
        (self.folder / operator / node).write_text(str(process))

    def _stop(self, operator: str, node: str) -> None:
        file = self.folder / operator / node
        os.kill(int(file.read_text()), signal.SIGTERM)
        file.unlink()


def open_cluster(options: Mapping[str, str]) -> ProcessCluster:
    """Open the cluster of ``execute.options``; the entry point in pyproject.toml names this function."""
    if set(options) != set(OPTIONS):
        text = f"expected {', '.join(OPTIONS)}, got {', '.join(sorted(options)) or 'none'}"
        raise InputError("process-options-invalid", place="execute.options", text=text)
    nodes = tuple(sorted(name.strip() for name in options["nodes"].split(",")))
    return ProcessCluster(Path(options["folder"]), nodes, options["start"])


def _lives(process: int) -> bool:
    with suppress(ChildProcessError):
        os.waitpid(process, os.WNOHANG)  # removes a child that has ended
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
