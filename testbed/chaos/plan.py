"""What a run of chaos will do, drawn from its seed: pure, and the same on every machine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from random import Random

from gesscale.errors import InputError


class ChaosFault(StrEnum):
    """What strikes while the placement changes."""

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


#: Of any query on the local cluster.
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
#: On Kubernetes.
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

LONGEST_DELAY_S, SHORTEST_FAULT_S, LONGEST_FAULT_S = 3.0, 2.0, 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """A change of the placement, and the fault that strikes in it."""

    #: From 0.
    number: int
    #: The nodes that are to hold the replicas, sorted; never those of the change before.
    placement: tuple[str, ...]
    #: What strikes.
    fault: ChaosFault
    #: How long after the order.
    delay_s: float
    #: How long a fault lasts that is not a kill.
    lasts_s: float
    #: Where a victim has to be chosen among those there are then: its share of the way through them, in [0,
    #: 1).
    choice: float

    def victim(self, candidates: Sequence[str]) -> str | None:
        """Return the node that the fault strikes; None where there is no candidate."""
        ordered = sorted(candidates)
        return ordered[int(self.choice * len(ordered))] if ordered else None


def parse_faults(names: str) -> tuple[ChaosFault, ...]:
    """Return faults by their names, separated by commas.

    Raises
    ------
    InputError
        At a name that is none, or none at all.

    Examples
    --------
    >>> [fault.name for fault in parse_faults("none, map-stale")]
    ['NONE', 'MAP_STALE']
    """
    found = []
    for name in (each.strip() for each in names.split(",")):
        try:
            found.append(ChaosFault(name))
        except ValueError:
            raise InputError(f"faults: expected some of {', '.join(ChaosFault)}, got {name!r}") from None
    return tuple(found)


def draw_plan(
    seed: int, changes: int, nodes: Sequence[str], most_replicas: int, faults: Sequence[ChaosFault] = LOCAL_FAULTS
) -> tuple[PlannedChange, ...]:
    """Draw the changes of a run. A longer run of the same seed begins with the same changes.

    Raises
    ------
    InputError
        If there are not two different placements.
    """
    if len(nodes) < 2 or most_replicas < 1:
        raise InputError(
            f"chaos: expected two nodes and a replica at least, got {len(nodes)} nodes and {most_replicas} "
            "replicas; choose another topology"
        )
    draw = Random(seed)  # noqa: S311 - not a secret
    return tuple(islice(_changes(draw, sorted(nodes), most_replicas, faults), changes))


def _changes(
    draw: Random, nodes: Sequence[str], most_replicas: int, faults: Sequence[ChaosFault]
) -> Iterator[PlannedChange]:
    before: tuple[str, ...] = ()
    number = 0
    while True:
        shuffled = list(faults)
        draw.shuffle(shuffled)
        for fault in shuffled:
            placement = before
            while placement == before:
                size = draw.randint(1, min(most_replicas, len(nodes)))
                placement = tuple(sorted(draw.sample(nodes, size)))
            yield PlannedChange(
                number=number,
                placement=placement,
                fault=fault,
                delay_s=round(draw.uniform(0.0, LONGEST_DELAY_S), 2),
                lasts_s=round(draw.uniform(SHORTEST_FAULT_S, LONGEST_FAULT_S), 2),
                choice=draw.random(),
            )
            before, number = placement, number + 1
