"""The plant: what every engine of the simulator promises, and who looks on."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from gesscale.model.decision import Decision, Outcome
from gesscale.model.observation import Batch
from gesscale.ports import ClusterState
from testbed.scoring.sample import Completion, Sample


class Tally(NamedTuple):
    """Counters of an operator since the beginning; all but the last two only grow."""

    #: Rows, cumulative (offered_rows, processed_rows).
    offered_rows: float
    processed_rows: float
    #: Seconds in which its replicas computed, and in which they were held up by the network, summed over replicas
    #: (work_s, waiting_s).
    work_s: float
    waiting_s: float
    #: Seconds for which replicas were kept, starting and restarting ones included.
    replica_seconds: float
    #: Replicas now: kept, and able to work (supply_replicas, serving_replicas).
    supply_replicas: int
    serving_replicas: int


class Effort(NamedTuple):
    """What a replica did in some batches."""

    #: Rows that it processed.
    rows: float
    #: Seconds in which it computed, and in which it was held up by the network; beyond that it was idle (work_s,
    #: waiting_s).
    work_s: float
    waiting_s: float


NO_EFFORT = Effort(0.0, 0.0, 0.0)

#: Returns by node what each replica did. It computes this when it is called, which may be at any time.
Efforts = Callable[[], Mapping[str, Effort]]


class Reports(Protocol):
    """What the operators tell of themselves."""

    def batches(self, operator: str) -> Sequence[Batch]:
        """Return the recent batches of an operator, oldest first, a bounded number; to be read only."""
        ...

    def efforts(self, operator: str, batches: Sequence[Batch]) -> Efforts:
        """Return a function for how the replicas shared the work of some of the recent batches."""
        ...

    def last_progress_at_s(self, operator: str, by_s: float) -> float | None:
        """Return when an operator last reported up to an instant (a batch, or that it idles); None if never."""
        ...


class Plant(Reports, Protocol):
    """Operators at work. Time begins at 0; nothing happens but by `advance` and `order`."""

    def advance(self, until_s: float) -> None:
        """Let time pass; an instant in the past does nothing."""
        ...

    def order(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Begin to have the replicas on these nodes and return at once; raises ClusterError where that cannot be."""
        ...

    def state(self) -> ClusterState:
        """Return the nodes, and where replicas are kept; starting ones count."""
        ...

    def completions(self) -> Sequence[Completion]:
        """Return and forget the rows that have reached a sink of the workflow since the last call."""
        ...

    def tally(self, operator: str) -> Tally:
        """Return an operator's counters now."""
        ...

    def mst_rows_per_s(self, operator: str, placement: Sequence[str]) -> float:
        """Return the true MST of a placement: without noise, warm, by the delays of the map."""
        ...


class Observer(Protocol):
    """Gets what happens; keeps what it needs."""

    def sampled(self, operator: str, sample: Sample) -> None:
        """Take an operator's sample."""
        ...

    def completed(self, completion: Completion) -> None:
        """Take rows that reached a sink."""
        ...

    def decided(self, decisions: tuple[Decision, ...]) -> None:
        """Take the decisions of a step."""
        ...
