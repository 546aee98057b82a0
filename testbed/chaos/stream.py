"""A query, its controller and the page between them: what chaos strikes, and what keeps it running."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.chaos.changing import Tallies
from testbed.chaos.controller import removed_on_doubt
from testbed.chaos.exactness import newest_commit
from testbed.chaos.faults import strike
from testbed.chaos.plan import PlannedChange
from testbed.chaos.proxy import FaultyPage
from testbed.chaos.setting import STEPS, write_wanted
from testbed.chaos.sources import Driver
from testbed.cluster import processes
from testbed.cluster.private import STATE_ROOT
from testbed.cluster.processes import Mark, Process, Role
from testbed.cluster.spark import LocalSpark
from testbed.cluster.state import state_directory
from testbed.demo.query import DRIVER_S
from testbed.nexmark.feed import EventFeed
from testbed.pipeline.sink import SinkCount

LOST_TASK, FETCH_FAILURE = "Lost task", "FetchFailed("


@dataclass(slots=True, kw_only=True)
class ChaosStream:
    """One run of the query.

    Attributes
    ----------
    spark
        Its application.
    page
        What the controller reads in place of the driver's page.
    driver
        Its driver program.
    topic
        Where its events come from; None where it makes its rows itself.
    folder
        Where everything of this part is.
    network_timeout_s
        An executor that has been silent for so long is given up by Spark.
    failed_batches, controller_ended
        How often the driver, and the controller, ended without having been killed.
    """

    spark: LocalSpark
    page: FaultyPage
    driver: Driver
    topic: EventFeed | None
    folder: Path
    network_timeout_s: int
    failed_batches: int = 0
    controller_ended: int = 0
    _logs: int = field(default=0, init=False)

    def start_driver(self) -> None:
        """Start the driver, from its checkpoint where there is one, and wait until executors can register.

        Raises
        ------
        ClusterError
            Where it does not come up.
        """
        self._keep_log()
        self.spark.start_driver(self.driver.program, network_timeout_s=self.network_timeout_s)
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
        processes.kill([each for each in self.spark.running(Role.EXECUTOR) if each.mark.node == node])

    def kill_driver(self) -> None:
        """Kill the driver, its JVM included, and start it again."""
        processes.kill(self._of(Role.DRIVER))
        self.start_driver()

    def kill_controller(self) -> None:
        """Kill the controller, and start it again."""
        processes.kill(self._of(Role.CONTROLLER))
        self.start_controller()

    def keep_running(self) -> None:
        """Start again what has ended by itself, and count it."""
        if self.topic is not None:
            self.topic.check()
        if self.spark.driver() is None:
            self.failed_batches += 1
            processes.kill(self._of(Role.DRIVER))
            self.start_driver()
        if not self._of(Role.CONTROLLER):
            self.controller_ended += 1
            self.start_controller()

    def order(self, placement: tuple[str, ...]) -> None:
        """Say where the replicas are to be; see `testbed.chaos.changing.Played`."""
        write_wanted(self.spark.operator, placement, self.folder)

    def strike(self, change: PlannedChange, before: tuple[str, ...]) -> str:
        """Carry a fault out and take it back; see `testbed.chaos.changing.Played`."""
        return strike(change, before, self)

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
        return newest_commit(self.driver.checkpoint)

    def count(self) -> SinkCount:
        """Count the rows of all committed batches in the sink."""
        return self.driver.rows.count()

    def tallies(self) -> Tallies:
        """Return what has been counted so far, by the logs of the driver and the steps of the loop."""
        logs = [*self.folder.glob("driver-*.log"), self._log]
        texts = [log.read_text(errors="replace") for log in logs if log.exists()]
        steps = self.folder / STEPS
        return Tallies(
            failed_batches=self.failed_batches,
            lost_tasks=sum(text.count(LOST_TASK) for text in texts),
            fetch_failures=sum(text.count(FETCH_FAILURE) for text in texts),
            removed_on_doubt=removed_on_doubt(steps.read_text()) if steps.exists() else 0,
            controller_ended=self.controller_ended,
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
