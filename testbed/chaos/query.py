"""A query with its controller on any cluster, and the run of one placement change."""

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
    folder: all files of this run
    failed_batches, controller_exits: times that driver and controller exited without having been killed
    """

    driver: Driver
    folder: Path
    failed_batches: int = field(default=0, init=False)
    controller_exits: int = field(default=0, init=False)

    @property
    @abstractmethod
    def cluster_name(self) -> str:
        """The name of its topology."""

    @abstractmethod
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes on which a replica runs, sorted."""

    @abstractmethod
    def order(self, placement: tuple[str, ...]) -> None:
        """Order a placement, which the controller has to apply."""

    @abstractmethod
    def inject(self, change: PlannedChange, before: tuple[str, ...]) -> str:
        """Inject a fault and revert it; return its target, empty if there was none."""

    @abstractmethod
    def keep_running(self) -> None:
        """Restart processes that exited without a fault, and count them."""

    @abstractmethod
    def is_on(self, placement: Sequence[str]) -> bool:
        """Return whether replicas run on exactly these nodes."""

    @abstractmethod
    def driver_logs(self) -> str:
        """Return the output of all drivers of this run."""

    @abstractmethod
    def start_controller(self) -> None:
        """Start the controller; it resumes from the state of an earlier one."""

    @abstractmethod
    def start(self) -> None:
        """Start query and controller."""

    @abstractmethod
    def stop(self) -> tuple[str, ...]:
        """End all processes and keep the logs; return leftovers."""

    def unsafe_removals(self) -> int:
        """Return the number of replicas removed in untrusted steps; 0 if steps are not recorded."""
        return 0

    def committed(self) -> int:
        """Return the newest committed batch."""
        return newest_commit(self.driver.checkpoint)

    def tallies(self) -> Tallies:
        """Return the counts so far."""
        logs = self.driver_logs()
        return Tallies(
            failed_batches=self.failed_batches,
            lost_tasks=logs.count(_LOST_TASK),
            fetch_failures=logs.count(_FETCH_FAILURE),
            unsafe_removals=self.unsafe_removals(),
            controller_exits=self.controller_exits,
        )

    def await_first_batch(self) -> None:
        """Wait until a batch is committed, so that the start of the query does not count as part of a change.

        Raises
        ------
        ClusterError
            If none is committed in time.
        """
        deadline_s = time.monotonic() + FIRST_BATCH_S
        while self.committed() < 0:
            if time.monotonic() > deadline_s:
                raise ClusterError("first-batch-timeout", timeout_s=FIRST_BATCH_S, folder=str(self.folder))
            time.sleep(_POLL_S)

    def run_change(self, change: PlannedChange, part: int, within_s: float) -> ChangeRecord:
        """Order a placement, inject the fault, wait for convergence, and count the rows."""
        before, tallies = self.nodes(), self.tallies()
        ordered_s, at_s = time.monotonic(), time.time()
        self.order(change.placement)
        time.sleep(change.delay_s)
        target = self.inject(change, before)
        injected_s = time.monotonic()
        converged_s = self._converge(change.placement, injected_s, within_s)
        count = self.driver.rows.count()
        return ChangeRecord(
            number=change.number,
            part=part,
            fault=change.fault,
            target=target,
            before=before,
            placement=change.placement,
            at_s=round(at_s, 3),
            fault_s=round(injected_s - ordered_s, 2),
            converged_s=converged_s,
            rows=count.distinct + count.missing,
            rows_lost=count.missing,
            rows_duplicated=count.duplicated,
            tallies=self.tallies().since(tallies),
        )

    def _converge(self, placement: Sequence[str], since_s: float, within_s: float) -> float | None:
        """Wait until the replicas match the order and a later batch is committed; return None on timeout."""
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
        """Start a command as the controller; the log of an earlier one is kept."""
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
        """Kill the controller and start it again."""
        processes.kill(self.running(Role.CONTROLLER))
        self.start_controller()

    def keep_controller_running(self) -> None:
        """Restart the controller if it has exited without a fault, and count that."""
        if not self.running(Role.CONTROLLER):
            self.controller_exits += 1
            self.start_controller()
