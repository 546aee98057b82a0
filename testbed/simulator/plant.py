"""Interfaces of the simulated engines and of observers of a run."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from gesscale.model.decision import Decision, Outcome
from gesscale.model.observation import Batch
from gesscale.ports import ClusterState
from testbed.scoring.sample import Completion, Sample


class Tally(NamedTuple):
    """Counters of an operator since the start, which only grow, and its state now."""

    #: Rows, cumulative (offered_rows, processed_rows).
    offered_rows: float
    processed_rows: float
    #: Time in which its replicas computed, and in which they waited for the network, summed over replicas, seconds
    #: (work_s, waiting_s).
    work_s: float
    waiting_s: float
    #: Lifetime of replicas, including starting and restarting ones, seconds.
    replica_seconds: float
    #: Replicas now: all, and those able to work (supply_replicas, serving_replicas).
    supply_replicas: int
    serving_replicas: int
    #: Sum of the prices of the replicas' nodes; None if all prices are 1.
    supply_price: float | None = None
    #: Rows that the retention of its source dropped before it read them, cumulative.
    lost_rows: float = 0.0
    #: See `testbed.scoring.sample.Sample.emitted_lag_s`.
    emitted_lag_s: float | None = None


class Effort(NamedTuple):
    """Work of a replica in some batches."""

    #: Rows processed.
    rows: float
    #: Time in which it computed, and in which it waited for the network, seconds; otherwise it was idle (work_s,
    #: waiting_s).
    work_s: float
    waiting_s: float


NO_EFFORT = Effort(0.0, 0.0, 0.0)

#: Returns the work of each replica by node; computed when called, at any time.
Efforts = Callable[[], Mapping[str, Effort]]


class Reports(Protocol):
    """Reports of the operators."""

    def batches(self, operator: str) -> Sequence[Batch]:
        """Return the recent batches of an operator, oldest first, a bounded number; read-only."""
        ...

    def efforts(self, operator: str, batches: Sequence[Batch]) -> Efforts:
        """Return a function for the work of each replica in some of the recent batches."""
        ...

    def last_progress_at_s(self, operator: str, by_s: float) -> float | None:
        """Return when an operator last reported up to an instant (a batch, or that it idles); None if never."""
        ...


class Plant(Reports, Protocol):
    """Simulated operators. Time begins at 0; the state changes only by `advance` and `order`."""

    def advance(self, until_s: float) -> None:
        """Advance time to an instant; an instant in the past does nothing."""
        ...

    def order(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Begin to change the placement and return at once; raises ClusterError if that is impossible."""
        ...

    def state(self) -> ClusterState:
        """Return the nodes and the placements, including starting replicas."""
        ...

    def completions(self) -> Sequence[Completion]:
        """Return the rows that have reached a sink of the workflow, or were lost, since the last call."""
        ...

    def tally(self, operator: str) -> Tally:
        """Return an operator's counters now."""
        ...

    def mst_rows_per_s(self, operator: str, placement: Sequence[str]) -> float:
        """Return the true MST of a placement: without noise, warm, by the delays of the map."""
        ...


class Observer(Protocol):
    """Receives the events of a run."""

    def on_sample(self, operator: str, sample: Sample) -> None:
        """Receive an operator's sample."""
        ...

    def on_completion(self, completion: Completion) -> None:
        """Receive rows that reached a sink."""
        ...

    def on_decisions(self, decisions: tuple[Decision, ...]) -> None:
        """Receive the decisions of a step."""
        ...
