"""The plan of a chaos run, drawn from its seed: pure, and the same on every machine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from random import Random
from typing import TypeVar

from gesscale.errors import InputError


class ChaosFault(StrEnum):
    """The fault that is injected during a placement change."""

    NONE = "none"
    EXECUTOR_KILLED = "executor-killed"
    DRIVER_KILLED = "driver-killed"
    CONTROLLER_KILLED = "controller-killed"
    NODE_CUT_OFF = "node-cut-off"
    LINK_SLOWED = "link-slowed"
    METRICS_HANG = "metrics-hang"
    METRICS_LIE = "metrics-lie"
    METRICS_GONE = "metrics-gone"
    MAP_STALE = "map-stale"
    BROKER_KILLED = "broker-killed"
    NODE_CUT_OFF_LONG = "node-cut-off-long"
    API_CONFLICT = "api-409"
    API_GONE = "api-410"
    API_TOO_MANY = "api-429"
    API_ERROR = "api-500"
    API_RESTARTED = "api-restarted"
    KUBELET_KILLED = "kubelet-killed"
    POD_DELETED = "pod-deleted"


#: Faults of every query on the local cluster.
LOCAL_FAULTS = (
    ChaosFault.NONE,
    ChaosFault.EXECUTOR_KILLED,
    ChaosFault.DRIVER_KILLED,
    ChaosFault.CONTROLLER_KILLED,
    ChaosFault.NODE_CUT_OFF,
    ChaosFault.LINK_SLOWED,
    ChaosFault.METRICS_HANG,
    ChaosFault.METRICS_LIE,
    ChaosFault.METRICS_GONE,
    ChaosFault.MAP_STALE,
)
#: Faults on Kubernetes.
KUBERNETES_FAULTS = (
    ChaosFault.NONE,
    ChaosFault.DRIVER_KILLED,
    ChaosFault.CONTROLLER_KILLED,
    ChaosFault.API_CONFLICT,
    ChaosFault.API_GONE,
    ChaosFault.API_TOO_MANY,
    ChaosFault.API_ERROR,
    ChaosFault.API_RESTARTED,
    ChaosFault.KUBELET_KILLED,
    ChaosFault.POD_DELETED,
)

F = TypeVar("F", bound=StrEnum)
MAX_DELAY_S, MIN_FAULT_S, MAX_FAULT_S = 3.0, 2.0, 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """A placement change, and the fault that is injected during it."""

    #: From 0.
    number: int
    #: The nodes for the replicas, sorted; differs from the change before.
    placement: tuple[str, ...]
    fault: ChaosFault
    #: Time from the order to the fault.
    delay_s: float
    #: Duration of the fault, unless it is a kill.
    lasts_s: float
    #: Position of the victim among the sorted candidates, as a share in [0, 1).
    choice: float

    def victim(self, candidates: Sequence[str]) -> str | None:
        """Return the target of the fault; None if there is no candidate."""
        ordered = sorted(candidates)
        return ordered[int(self.choice * len(ordered))] if ordered else None


def parse_faults(names: str, kind: type[F] = ChaosFault, place: str = "--faults") -> tuple[F, ...]:  # type: ignore[assignment]
    """Parse names of faults of a kind, separated by commas.

    Raises
    ------
    InputError
        If a name is unknown or empty.

    Examples
    --------
    >>> [fault.name for fault in parse_faults("none, map-stale")]
    ['NONE', 'MAP_STALE']
    """
    faults = []
    for name in (each.strip() for each in names.split(",")):
        try:
            faults.append(kind(name))
        except ValueError:
            raise InputError("chaos-fault-unknown", place=place, got=name, known=", ".join(kind)) from None
    return tuple(faults)


def draw_plan(
    seed: int, changes: int, nodes: Sequence[str], max_replicas: int, faults: Sequence[ChaosFault] = LOCAL_FAULTS
) -> tuple[PlannedChange, ...]:
    """Draw the changes of a run. A longer run of the same seed begins with the same changes.

    Raises
    ------
    InputError
        If there are not two different placements.
    """
    if len(nodes) < 2 or max_replicas < 1:
        raise InputError("chaos-nodes-missing", nodes=len(nodes), replicas=max_replicas)
    draw = Random(seed)  # noqa: S311 - not a secret
    return tuple(islice(_changes(draw, sorted(nodes), max_replicas, faults), changes))


def _changes(
    draw: Random, nodes: Sequence[str], max_replicas: int, faults: Sequence[ChaosFault]
) -> Iterator[PlannedChange]:
    before: tuple[str, ...] = ()
    number = 0
    while True:
        shuffled = list(faults)
        draw.shuffle(shuffled)
        for fault in shuffled:
            placement = before
            while placement == before:
                size = draw.randint(1, min(max_replicas, len(nodes)))
                placement = tuple(sorted(draw.sample(nodes, size)))
            yield PlannedChange(
                number=number,
                placement=placement,
                fault=fault,
                delay_s=round(draw.uniform(0.0, MAX_DELAY_S), 2),
                lasts_s=round(draw.uniform(MIN_FAULT_S, MAX_FAULT_S), 2),
                choice=draw.random(),
            )
            before, number = placement, number + 1
