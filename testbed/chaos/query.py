"""A query with its controller, on whatever cluster: what every cluster shares, and one change of its placement."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.chaos.plan import PlannedChange
from testbed.chaos.results import ChangeRecord, Tallies
from testbed.chaos.rows import Driver, newest_commit
from testbed.cluster import processes
from testbed.cluster.processes import Mark, Process, Role
from testbed.cluster.state import state_directory

FIRST_BATCH_S = 300.0
_POLL_S = 0.3
_LOST_TASK, _FETCH_FAILURE = "Lost task", "FetchFailed("


@dataclass(slots=True, kw_only=True)
class ChaosQuery(ABC):
    """One run of a query.

    Attributes
    ----------
    driver: its driver program
    folder: where everything of this run is
    failed_batches, controller_ended: how often driver and controller ended without having been killed
    """

    driver: Driver
    folder: Path
    failed_batches: int = field(default=0, init=False)
    controller_ended: int = field(default=0, init=False)

    @property
    @abstractmethod
    def cluster_name(self) -> str:
        """The name of the topology on which it runs."""

    @abstractmethod
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes on which a replica runs, sorted."""

    @abstractmethod
    def order(self, placement: tuple[str, ...]) -> None:
        """Say where the replicas are to be; the controller has to bring them there."""

    @abstractmethod
    def strike(self, change: PlannedChange, before: tuple[str, ...]) -> str:
        """Carry a fault out and take it back; return what was struck, empty where there was nothing to strike."""

    @abstractmethod
    def keep_running(self) -> None:
        """Start again what has ended by itself, and count it."""

    @abstractmethod
    def is_on(self, placement: Sequence[str]) -> bool:
        """Return whether replicas work on exactly these nodes."""

    @abstractmethod
    def driver_logs(self) -> str:
        """Return what all drivers of this run have written."""

    @abstractmethod
    def start_controller(self) -> None:
        """Start the controller; it goes on where an earlier one ended."""

    @abstractmethod
    def start(self) -> None:
        """Start query and controller."""

    @abstractmethod
    def stop(self) -> tuple[str, ...]:
        """End all of it and keep the logs; return what is still there."""

    def unsafe_removals(self) -> int:
        """Return how many replicas the loop has removed in untrusted steps; 0 where its steps are not recorded."""
        return 0

    def committed(self) -> int:
        """Return the newest committed batch."""
        return newest_commit(self.driver.checkpoint)

    def tallies(self) -> Tallies:
        """Return what has been counted so far."""
        logs = self.driver_logs()
        return Tallies(
            failed_batches=self.failed_batches,
            lost_tasks=logs.count(_LOST_TASK),
            fetch_failures=logs.count(_FETCH_FAILURE),
            unsafe_removals=self.unsafe_removals(),
            controller_ended=self.controller_ended,
        )

    def await_first_batch(self) -> None:
        """Wait until a batch is committed; the start of a query is no change.

        Raises
        ------
        ClusterError
            If none is in time.
        """
        deadline_s = time.monotonic() + FIRST_BATCH_S
        while self.committed() < 0:
            if time.monotonic() > deadline_s:
                raise ClusterError(f"expected a first batch within {FIRST_BATCH_S:g} s; see the logs in {self.folder}")
            time.sleep(_POLL_S)

    def run_change(self, change: PlannedChange, part: int, within_s: float) -> ChangeRecord:
        """Order a placement, let the fault strike, wait until it has converged, and count."""
        before, tallies = self.nodes(), self.tallies()
        ordered_s, at_s = time.monotonic(), time.time()
        self.order(change.placement)
        time.sleep(change.delay_s)
        target = self.strike(change, before)
        struck_s = time.monotonic()
        converged_s = self._converge(change.placement, struck_s, within_s)
        count = self.driver.rows.count()
        return ChangeRecord(
            number=change.number,
            part=part,
            fault=change.fault,
            target=target,
            before=before,
            placement=change.placement,
            at_s=round(at_s, 3),
            fault_s=round(struck_s - ordered_s, 2),
            converged_s=converged_s,
            rows=count.distinct + count.missing,
            rows_lost=count.missing,
            rows_duplicated=count.duplicated,
            tallies=self.tallies().since(tallies),
        )

    def _converge(self, placement: Sequence[str], since_s: float, within_s: float) -> float | None:
        """Wait until the replicas are as ordered and a later batch is committed; None where it takes too long."""
        arrived_at: int | None = None
        while (waited_s := time.monotonic() - since_s) < within_s:
            self.keep_running()
            if not self.is_on(placement):
                arrived_at = None
            elif arrived_at is None:
                arrived_at = self.committed()
            elif self.committed() > arrived_at:
                return round(waited_s, 2)
            time.sleep(_POLL_S)
        return None

    def start_as_controller(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start a command as the controller; what an earlier one has written is kept."""
        log = self.folder / "controller.log"
        with (self.folder / "controllers.log").open("ab") as kept:
            kept.write(log.read_bytes() if log.exists() else b"")
        mark = Mark(cluster=str(state_directory(self.cluster_name)), role=Role.CONTROLLER)
        environment = {**processes.base_environment(), **environment}
        processes.start(command, mark, environment=environment, log=log)

    def running(self, role: Role) -> list[Process]:
        """Return the processes of a role."""
        cluster = str(state_directory(self.cluster_name))
        return [each for each in processes.find(cluster) if each.mark.role is role]

    def kill_controller(self) -> None:
        """Kill the controller, and start it again."""
        processes.kill(self.running(Role.CONTROLLER))
        self.start_controller()

    def keep_controller_running(self) -> None:
        """Start the controller again where it has ended by itself, and count that."""
        if not self.running(Role.CONTROLLER):
            self.controller_ended += 1
            self.start_controller()
