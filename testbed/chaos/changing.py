"""One change of a placement while a fault strikes, on whatever cluster it is played."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gesscale.errors import ClusterError
from testbed.chaos.judge import ChangeRecord
from testbed.chaos.plan import PlannedChange
from testbed.pipeline.sink import SinkCount

FIRST_BATCH_S = 300.0
_POLL_S = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallies:
    """What has been counted since a query began; see `testbed.chaos.judge.ChangeRecord`."""

    failed_batches: int = 0
    lost_tasks: int = 0
    fetch_failures: int = 0
    removed_on_doubt: int = 0
    controller_ended: int = 0


class Played(Protocol):
    """A query with its controller on a cluster."""

    def nodes(self) -> tuple[str, ...]:
        """Return the nodes on which a replica runs, sorted."""
        ...

    def order(self, placement: tuple[str, ...]) -> None:
        """Say where the replicas are to be; the controller has to bring them there."""
        ...

    def strike(self, change: PlannedChange, before: tuple[str, ...]) -> str:
        """Carry a fault out and take it back; return what was struck, empty where there was nothing to strike."""
        ...

    def keep_running(self) -> None:
        """Start again what has ended by itself, and count it."""
        ...

    def is_on(self, placement: Sequence[str]) -> bool:
        """Whether replicas work on exactly these nodes."""
        ...

    def committed(self) -> int:
        """Return the newest committed batch."""
        ...

    def count(self) -> SinkCount:
        """Count the rows that must be in the sink by now."""
        ...

    def tallies(self) -> Tallies:
        """Return what has been counted so far."""
        ...


def play_change(change: PlannedChange, part: int, played: Played, within_s: float) -> ChangeRecord:
    """Order a placement, let the fault strike, wait until it has converged, and count.

    Parameters
    ----------
    change
        What is drawn.
    part
        The run of the query in which it is.
    played
        What it is played on.
    within_s
        How long it may take to converge.
    """
    before, tallies = played.nodes(), played.tallies()
    ordered_s, at_s = time.monotonic(), time.time()
    played.order(change.placement)
    wait_s(change.delay_s)
    target = played.strike(change, before)
    struck_s = time.monotonic()
    converged_s = _converge(change.placement, played, struck_s, within_s)
    count, now = played.count(), played.tallies()
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
        rows_doubled=count.duplicated,
        failed_batches=now.failed_batches - tallies.failed_batches,
        lost_tasks=now.lost_tasks - tallies.lost_tasks,
        fetch_failures=now.fetch_failures - tallies.fetch_failures,
        removed_on_doubt=now.removed_on_doubt - tallies.removed_on_doubt,
        controller_ended=now.controller_ended - tallies.controller_ended,
    )


def await_first_batch(played: Played, timeout_s: float = FIRST_BATCH_S) -> None:
    """Wait until a query that was started has committed a batch; its start is no change.

    Raises
    ------
    ClusterError
        Where none is in time.
    """
    deadline_s = time.monotonic() + timeout_s
    while played.committed() < 0:
        if time.monotonic() > deadline_s:
            message = (
                f"expected a first batch within {timeout_s:g} s, there is none; see the logs in the results"
            )
            raise ClusterError(message)
        time.sleep(_POLL_S)


def in_words(record: ChangeRecord) -> str:
    """Return a record as a line for people."""
    converged = "NOT CONVERGED" if record.converged_s is None else f"converged in {record.converged_s:.1f} s"
    return (
        f"change {record.number}: {','.join(record.before)} -> {','.join(record.placement)}; {record.fault.value}"
        f" {record.target}; {converged}; {record.rows} rows, {record.rows_lost} lost, {record.rows_doubled} doubled"
    )


def wait_s(seconds: float) -> None:
    """Wait; nothing where the time is over."""
    time.sleep(max(0.0, seconds))


def _converge(placement: Sequence[str], played: Played, since_s: float, within_s: float) -> float | None:
    """Wait until the replicas are as ordered and a later batch is committed; return the seconds, None if too many."""
    arrived_at: int | None = None
    while (waited_s := time.monotonic() - since_s) < within_s:
        played.keep_running()
        if not played.is_on(placement):
            arrived_at = None
        elif arrived_at is None:
            arrived_at = played.committed()
        elif played.committed() > arrived_at:
            return round(waited_s, 2)
        time.sleep(_POLL_S)
    return None
