"""A query, its controller and the page between them: what chaos strikes, and what keeps it running."""

import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.chaos.exactness import GrowingSink, committed_rows
from testbed.chaos.proxy import FaultyPage
from testbed.cluster import processes
from testbed.cluster.private import STATE_ROOT
from testbed.cluster.processes import Mark, Process, Role
from testbed.cluster.spark import LocalSpark
from testbed.cluster.state import state_directory
from testbed.demo.query import DRIVER_S, stream_program
from testbed.pipeline.sink import SinkCount

_KILL_S = 0.0
_LOST_TASK, _FETCH_FAILURE = "Lost task", "FetchFailed"


@dataclass(slots=True, kw_only=True)
class ChaosStream:
    """One run of the query.

    Attributes
    ----------
    spark
        Its application.
    page
        What the controller reads in place of the driver's page.
    options
        Of the driver program.
    folder
        Where everything of this part is.
    failed_batches, controller_ended
        How often the driver, and the controller, ended without having been killed.
    """

    spark: LocalSpark
    page: FaultyPage
    options: dict[str, object]
    folder: Path
    failed_batches: int = 0
    controller_ended: int = 0
    _sink: GrowingSink = field(init=False)
    _logs: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._sink = GrowingSink(self.folder / "sink")

    @property
    def checkpoint(self) -> Path:
        """The query's."""
        return Path(str(self.options["checkpoint"]))

    def start_driver(self) -> None:
        """Start the driver, from its checkpoint where there is one, and wait until executors can register.

        Raises
        ------
        ClusterError
            Where it does not come up.
        """
        self._keep_log()
        self.spark.start_driver(stream_program(self.options))
        self.spark.await_driver(DRIVER_S)

    def start_controller(self) -> None:
        """Start the controller, from its knowledge where there is one."""
        log = self.folder / "controller.log"
        state_root = {STATE_ROOT: os.environ[STATE_ROOT]} if STATE_ROOT in os.environ else {}
        with (self.folder / "controllers.log").open("ab") as kept:
            kept.write(log.read_bytes() if log.exists() else b"")
        processes.start(
            (sys.executable, "-m", "testbed.chaos.controller", str(self.folder)),
            Mark(cluster=str(state_directory(self.spark.topology.name)), role=Role.CONTROLLER),
            environment={**processes.base_environment(), **state_root},
            log=log,
        )

    def kill_executor(self, node: str) -> None:
        """Kill the executor on a node."""
        _kill([each for each in self.spark.running(Role.EXECUTOR) if each.mark.node == node])

    def kill_driver(self) -> None:
        """Kill the driver, its JVM included, and start it again."""
        _kill(self._of(Role.DRIVER))
        self.start_driver()

    def kill_controller(self) -> None:
        """Kill the controller, and start it again."""
        _kill(self._of(Role.CONTROLLER))
        self.start_controller()

    def keep_running(self) -> None:
        """Start again what has ended by itself, and count it."""
        if self.spark.driver() is None:
            self.failed_batches += 1
            _kill(self._of(Role.DRIVER))
            self.start_driver()
        if not self._of(Role.CONTROLLER):
            self.controller_ended += 1
            self.start_controller()

    def nodes(self) -> tuple[str, ...]:
        """Return the nodes on which an executor's process runs, sorted."""
        return tuple(sorted(each.mark.node for each in self.spark.running(Role.EXECUTOR)))

    def is_on(self, placement: Sequence[str]) -> bool:
        """Whether executors run on exactly these nodes, and the driver has all of them."""
        running = self.spark.running(Role.EXECUTOR)
        if sorted(each.mark.node for each in running) != sorted(placement):
            return False
        try:
            return {each.mark.serial for each in running} <= self.spark.active_executors()
        except ClusterError:
            return False

    def committed(self) -> int:
        """Return the newest committed batch."""
        return committed_rows(self.checkpoint)[0]

    def count(self) -> SinkCount:
        """Count the rows of all committed batches in the sink."""
        return self._sink.count(committed_rows(self.checkpoint)[1])

    def lost_tasks(self) -> tuple[int, int]:
        """Return how many lost tasks and fetch failures the driver's logs tell of."""
        logs = [*self.folder.glob("driver-*.log"), self._log]
        texts = [log.read_text(errors="replace") for log in logs if log.exists()]
        return sum(text.count(_LOST_TASK) for text in texts), sum(
            text.count(_FETCH_FAILURE) for text in texts
        )

    def stop(self) -> None:
        """End controller, driver and executors, and keep their logs."""
        processes.stop(self._of(Role.CONTROLLER), grace_s=10.0)
        self.spark.stop_driver()
        self._keep_log()

    @property
    def _log(self) -> Path:
        return self.spark.log(Role.DRIVER, self.spark.topology.driver_node)

    def _keep_log(self) -> None:
        if self._log.exists():
            self._log.rename(self.folder / f"driver-{self._logs}.log")
            self._logs += 1

    def _of(self, role: Role) -> list[Process]:
        cluster = str(state_directory(self.spark.topology.name))
        return [each for each in processes.find(cluster) if each.mark.role is role]


def _kill(those: Sequence[Process]) -> None:
    processes.stop(those, grace_s=_KILL_S, first=signal.SIGKILL)


def wait_s(seconds: float) -> None:
    """Wait; nothing where the time is over."""
    time.sleep(max(0.0, seconds))
