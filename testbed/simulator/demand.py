"""Demand of an operator: the best placement of each number of replicas by its true MST."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, combinations

from gesscale.model.workflow import Operator
from testbed.simulator.plant import Plant
from testbed.simulator.scene import Scene

#: Most nodes for an exhaustive search: 4,095 placements, which each further node doubles.
EXACT_UP_TO_NODES = 12

_ROUNDING = 1e-9


class BestPlacements:
    """Placement with the largest true MST for each number of replicas.

    Up to `EXACT_UP_TO_NODES` nodes every placement is tried. Beyond that the placement grows from the best single node
    by the node that adds most, which may miss better ones. Node failures do not count.
    """

    def __init__(
        self, mst_rows_per_s: Callable[[str, Sequence[str]], float], operator: Operator, nodes: Sequence[str]
    ) -> None:
        def mst(placement: Sequence[str]) -> float:
            return mst_rows_per_s(operator.name, placement)

        most = min(operator.max_replicas, len(nodes))
        find = _enumerated if len(nodes) <= EXACT_UP_TO_NODES else _grown
        found = find(mst, sorted(nodes), most)
        self._least = min(operator.min_replicas, most)
        self._best = {len(placement): (capacity, placement) for capacity, placement in found}
        allowed = (best[0] for replicas, best in self._best.items() if replicas >= self._least)
        self._reached = tuple(accumulate(allowed, max))  # by the replicas above the fewest

    def __getitem__(self, replicas: int) -> tuple[float, tuple[str, ...]]:
        """Return the largest MST of a number of replicas, rows/s, and its sorted placement."""
        return self._best[replicas]

    def smallest_for(self, rows_per_s: float) -> tuple[int, tuple[str, ...]]:
        """Return the fewest replicas that sustain a rate, and their best placement."""
        needed = rows_per_s * (1 - _ROUNDING)
        more = bisect_left(self._reached, needed)
        replicas = self._least + min(more, len(self._reached) - 1)
        return replicas, self._best[replicas][1]


def best_placements(scene: Scene, plant: Plant) -> Mapping[str, BestPlacements]:
    """Return the best placements of every operator of a scene, by the MST of a plant built from it."""
    return {
        name: BestPlacements(plant.mst_rows_per_s, operator, tuple(scene.nodes))
        for name, operator in scene.workflow.operators.items()
    }


_Found = list[tuple[float, tuple[str, ...]]]


def _enumerated(mst: Callable[[Sequence[str]], float], nodes: list[str], most: int) -> _Found:
    # Ties go to the first placement by name.
    return [
        max(((mst(placement), placement) for placement in combinations(nodes, size)), key=lambda item: item[0])
        for size in range(1, most + 1)
    ]


def _grown(mst: Callable[[Sequence[str]], float], nodes: list[str], most: int) -> _Found:
    found: _Found = []
    placement: tuple[str, ...] = ()
    while len(placement) < most:
        grown = (tuple(sorted((*placement, node))) for node in nodes if node not in placement)
        best = max(((mst(candidate), candidate) for candidate in grown), key=lambda item: item[0])
        found.append(best)
        placement = best[1]
    return found
