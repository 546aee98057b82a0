"""Operators, joined by streams into a workflow: a directed acyclic graph.

An operator is one Spark Structured Streaming application. Its replicas are the executors of that application, at most
one per edge node.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from gesscale.common.errors import InvalidValueError
from gesscale.constraints import Ascending
from gesscale.model.schedule import ScalingSchedule

REPLICA_LIMITS = Ascending("min_replicas", "max_replicas")

#: Latency objective if none is given, s: the default period.
DEFAULT_SLO_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCap:
    """The cap B on the rows of one micro-batch: fixed, or proportional to the replicas."""

    #: Fixed cap, rows; 0 if the cap is proportional.
    rows: int = 0
    #: Cap per replica, rows; 0 if the cap is fixed.
    rows_per_replica: int = 0

    def __post_init__(self) -> None:
        if min(self.rows, self.rows_per_replica) < 0 or (self.rows > 0) == (self.rows_per_replica > 0):
            raise InvalidValueError("batch-cap-invalid", rows=self.rows, rows_per_replica=self.rows_per_replica)

    def at(self, replicas: int) -> int:
        """Return the cap, in rows, that holds with this many replicas."""
        return self.rows or self.rows_per_replica * replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator and its limits."""

    #: Unique in its workflow.
    name: str
    #: The edge node that runs the Spark driver; it counts towards NDmax.
    driver_node: str
    #: The operators whose output this one reads; empty if it reads a source of the workflow.
    upstream: tuple[str, ...] = ()
    #: The replicas it may have, ``1 <= min <= max`` (min_replicas, max_replicas).
    min_replicas: int = 1
    max_replicas: int = 8
    #: The cap on the rows of a batch; None if the query has none.
    cap: BatchCap | None = None
    #: Whether a change of its replicas stops the query and starts it again.
    restarts: bool = False
    #: Times that recur, with other limits or no changes.
    schedules: tuple[ScalingSchedule, ...] = ()

    def __post_init__(self) -> None:
        if self.min_replicas < 1 or not REPLICA_LIMITS.holds(self):
            raise InvalidValueError(
                "replica-limits-invalid",
                operator=self.name,
                min_replicas=self.min_replicas,
                max_replicas=self.max_replicas,
            )

    def batch_rows(self, replicas: int) -> int | None:
        """Return the cap of a batch with this many replicas, in rows; None without a cap."""
        return None if self.cap is None else self.cap.at(replicas)


@dataclass(frozen=True, slots=True)
class Workflow:
    """Operators and the streams between them.

    Raises
    ------
    InvalidValueError
        If there are no operators, a name is used twice, an upstream operator is unknown, or the streams form a cycle.
    """

    operators: Mapping[str, Operator]
    #: Latency objective: the age from which a row that is not yet processed is late, s.
    slo_s: float
    _ancestors: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)
    _order: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _path_operators: Mapping[str, int] = field(init=False, repr=False, compare=False)
    _upstream: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)
    _downstream: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __init__(self, operators: Iterable[Operator], slo_s: float = DEFAULT_SLO_S) -> None:
        listed = tuple(operators)
        by_name = {operator.name: operator for operator in listed}
        if not listed or len(by_name) != len(listed):
            raise InvalidValueError("operators-not-distinct", operators=[operator.name for operator in listed])
        upstream = {name: tuple(sorted(set(operator.upstream))) for name, operator in by_name.items()}
        order = _ordered(listed, by_name)
        ancestors: dict[str, tuple[str, ...]] = {}
        for name in order:
            farther = (ancestors[each] for each in upstream[name])
            ancestors[name] = tuple(sorted(set(upstream[name]).union(*farther)))
        downstream: dict[str, tuple[str, ...]] = dict.fromkeys(by_name, ())
        for name in sorted(by_name):
            for each in upstream[name]:
                downstream[each] += (name,)
        object.__setattr__(self, "operators", by_name)
        object.__setattr__(self, "slo_s", slo_s)
        object.__setattr__(self, "_upstream", upstream)
        object.__setattr__(self, "_downstream", downstream)
        object.__setattr__(self, "_ancestors", {name: ancestors[name] for name in by_name})
        object.__setattr__(self, "_order", order)
        object.__setattr__(self, "_path_operators", _path_operators(order, upstream, downstream))

    @property
    def topological_order(self) -> tuple[str, ...]:
        """All operators by name, each after those that feed it."""
        return self._order

    def upstream(self, name: str) -> tuple[str, ...]:
        """Return the operators that feed this one, by name."""
        return self._upstream[name]

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Return all operators whose rows reach this one, by name."""
        return self._ancestors[name]

    def path_operators(self, name: str) -> int:
        """Return how many operators the longest path through this one has, itself included."""
        return self._path_operators[name]

    def objective_s(self, name: str) -> float:
        """Return the operator's share of the objective, equal for all operators on its longest path."""
        return self.slo_s / self._path_operators[name]

    def downstream(self, name: str) -> tuple[str, ...]:
        """Return the operators that this one feeds, by name."""
        return self._downstream[name]


def _ordered(listed: Sequence[Operator], by_name: Mapping[str, Operator]) -> tuple[str, ...]:
    """Return the operators, each after those that feed it."""
    sorter = TopologicalSorter(dict.fromkeys(by_name, ()))
    for operator in listed:
        for upstream in operator.upstream:
            if upstream not in by_name:
                raise InvalidValueError(
                    "upstream-unknown", operator=operator.name, upstream=upstream, known=sorted(by_name)
                )
            sorter.add(operator.name, upstream)
    try:
        return tuple(sorter.static_order())
    except CycleError as error:
        raise InvalidValueError("workflow-cyclic", cycle=" -> ".join(error.args[1])) from None


def _path_operators(
    order: Sequence[str], upstream: Mapping[str, Sequence[str]], downstream: Mapping[str, Sequence[str]]
) -> Mapping[str, int]:
    """Return how many operators the longest path through each one has."""
    before, after = dict.fromkeys(order, 0), dict.fromkeys(order, 0)
    for name in order:
        before[name] = max((before[each] + 1 for each in upstream[name]), default=0)
    for name in reversed(order):
        after[name] = max((after[each] + 1 for each in downstream[name]), default=0)
    return {name: before[name] + 1 + after[name] for name in order}
