"""A cluster adapter of one's own in a hundred lines: a replica is a process that a command of yours starts.

What is where stands in a folder, one file with a process id for each replica: ``FOLDER/OPERATOR/NODE``. So a loop that
is started again finds the replicas that are there.
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
    """Starts replicas by a command, and ends them by SIGTERM.

    Attributes
    ----------
    folder
        Where the files are. It has a folder for each operator.
    nodes
        The names of the nodes, as in the latency map.
    start
        The command of a replica; ``{operator}`` and ``{node}`` stand for whose and where.
    """

    folder: Path
    nodes: tuple[str, ...]
    start: str

    def state(self) -> ClusterState:
        """Return the nodes, and where replicas live now."""
        try:
            operators = sorted(path.name for path in self.folder.iterdir() if path.is_dir())
        except OSError as error:
            message = f"cluster of processes: {self.folder}: {error.strerror}; make it, with a folder for each operator"
            raise ClusterError(message) from error
        return ClusterState(
            nodes={name: Node(name=name) for name in self.nodes},
            placements={operator: self._placement(operator) for operator in operators},
        )

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Start and end what differs from the placement; the same placement again changes nothing."""
        if not (self.folder / operator).is_dir():
            message = f"cluster of processes: there is no operator {operator!r} in {self.folder}; make a folder for it"
            raise ClusterError(message)
        if unknown := sorted(set(placement) - set(self.nodes)):
            message = f"cluster of processes: expected nodes of {', '.join(self.nodes)}, got {', '.join(unknown)}"
            raise ClusterError(message)
        present = self._placement(operator)
        added = tuple(node for node in placement if node not in present)
        removed = tuple(node for node in present if node not in placement)
        for node in added:
            self._begin(operator, node)
        for node in removed:
            self._end(operator, node)
        status = OutcomeStatus.APPLIED if added or removed else OutcomeStatus.NOTHING_TO_DO
        return Outcome(status=status, added=added, removed=removed)

    def _placement(self, operator: str) -> tuple[str, ...]:
        files = sorted((self.folder / operator).iterdir())
        return tuple(file.name for file in files if _lives(int(file.read_text())))

    def _begin(self, operator: str, node: str) -> None:
        words = [word.format(operator=operator, node=node) for word in shlex.split(self.start)]
        try:
            process = os.posix_spawnp(words[0], words, os.environ, setpgroup=0)  # Ctrl-C of the loop is not theirs
        except OSError as error:
            message = f"cluster of processes: a replica of {operator!r} cannot start on {node}: {error}"
            raise ClusterError(message) from error
        (self.folder / operator / node).write_text(str(process))

    def _end(self, operator: str, node: str) -> None:
        file = self.folder / operator / node
        os.kill(int(file.read_text()), signal.SIGTERM)
        file.unlink()


def open_cluster(options: Mapping[str, str]) -> ProcessCluster:
    """Open the cluster of ``execute.options``; the entry point in pyproject.toml names this function."""
    if set(options) != set(OPTIONS):
        message = f"execute.options: expected {', '.join(OPTIONS)}, got {', '.join(sorted(options)) or 'none'}"
        raise InputError(message)
    nodes = tuple(sorted(name.strip() for name in options["nodes"].split(",")))
    return ProcessCluster(Path(options["folder"]), nodes, options["start"])


def _lives(process: int) -> bool:
    with suppress(ChildProcessError):
        os.waitpid(process, os.WNOHANG)  # a child that has ended is gone only then
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
