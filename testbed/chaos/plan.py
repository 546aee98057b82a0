"""What a run of chaos will do, drawn from its seed: pure, and the same on every machine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from random import Random

from gesscale.errors import InputError


class Fault(StrEnum):
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


LONGEST_DELAY_S, SHORTEST_FAULT_S, LONGEST_FAULT_S = 3.0, 2.0, 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """A change of the placement, and the fault that strikes in it.

    Attributes
    ----------
    number
        From 0.
    placement
        The nodes that are to hold the replicas, sorted; never those of the change before.
    fault
        What strikes.
    delay_s
        How long after the order.
    lasts_s
        How long a fault lasts that is not a kill.
    choice
        Where a victim has to be chosen among those there are then: its share of the way through them, in [0, 1).
    """

    number: int
    placement: tuple[str, ...]
    fault: Fault
    delay_s: float
    lasts_s: float
    choice: float

    def victim(self, candidates: Sequence[str]) -> str | None:
        """Return the node that the fault strikes; None where there is no candidate."""
        ordered = sorted(candidates)
        return ordered[int(self.choice * len(ordered))] if ordered else None


def draw_plan(seed: int, changes: int, nodes: Sequence[str], most_replicas: int) -> tuple[PlannedChange, ...]:
    """Draw the changes of a run. A longer run of the same seed begins with the same changes.

    Parameters
    ----------
    seed
        Equal seeds give equal plans.
    changes
        How many.
    nodes
        Those that may hold replicas.
    most_replicas
        The most of a placement; the fewest is one.

    Returns
    -------
    tuple of PlannedChange
        Every ten changes have each fault once, in an order of their own.

    Raises
    ------
    InputError
        Where there are not two different placements.
    """
    if len(nodes) < 2 or most_replicas < 1:
        message = (
            f"chaos: expected two nodes and a replica at least, got {len(nodes)} nodes and {most_replicas} "
            "replicas; choose another topology"
        )
        raise InputError(message)
    return tuple(islice(_changes(Random(seed), sorted(nodes), most_replicas), changes))  # noqa: S311 - not a secret


def _changes(draw: Random, nodes: Sequence[str], most_replicas: int) -> Iterator[PlannedChange]:
    before: tuple[str, ...] = ()
    number = 0
    while True:
        faults = list(Fault)
        draw.shuffle(faults)
        for fault in faults:
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
