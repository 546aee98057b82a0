"""Placements with their predicted MST: the present one, smaller ones, and those with one more replica."""

import math
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from gesscale.analyze.capacity import headroom_pct, predict, predict_all, weight_of
from gesscale.plan.node_ranking import nd_max_ms, nd_max_with_each_ms
from gesscale.policies.base import PlanningContext
from perfmodel import PROPORTIONAL, Estimate, Estimates, FittedEq1


@dataclass(frozen=True, slots=True)
class SizedPlacement:
    """A placement and its predicted capacity."""

    #: Nodes of the replicas, sorted.
    placement: tuple[str, ...]
    #: NDmax including the driver's node, round trip; None if the latency map lacks a delay.
    nd_max_ms: float | None
    #: Predicted MST, rows/s; None without a model.
    mst: Estimate | None

    def __str__(self) -> str:
        delay = "NDmax unknown" if self.nd_max_ms is None else f"NDmax {self.nd_max_ms:.0f} ms"
        if self.mst is None:
            return delay
        return f"{delay}, MST {self.mst.mid:.0f} ({self.mst.low:.0f} to {self.mst.high:.0f}) rows/s"

    def sustains(self, rows_per_s: float) -> bool:
        """Return True if the low end of the MST is at least a rate (scale-in never relies on the middle)."""
        return self.mst is not None and self.mst.low >= rows_per_s

    def headroom_pct(self, rows_per_s: float) -> float:
        """Return the headroom (DT) of the low end of the MST above a throughput, per cent; 0 without a model."""
        return 0.0 if self.mst is None else headroom_pct(self.mst.low, rows_per_s)


def predict_mst(
    model: FittedEq1 | None, placement: tuple[str, ...], nd_ms: float | None, weight: float
) -> Estimate | None:
    """Predict the MST of a placement; Eq. 2 needs no delay."""
    ignores_delay = model is not None and model.law == PROPORTIONAL
    return predict(model, placement, 0.0 if ignores_delay else nd_ms, weight)


def sized(context: PlanningContext, placement: tuple[str, ...], model: FittedEq1 | None) -> SizedPlacement:
    """Predict the MST of a placement."""
    nodes = tuple(sorted(placement))
    nd = nd_max_ms(context.latencies.map, nodes, context.operator.driver_node)
    weight = weight_of(nodes, context.cluster.weights)
    return SizedPlacement(nodes, nd, predict_mst(model, nodes, nd, weight))


@dataclass(frozen=True, slots=True, kw_only=True)
class GrownPlacements:
    """The present placement with one more replica on each of m nodes, and its predicted MSTs."""

    present: tuple[str, ...]
    nodes: tuple[str, ...]
    #: Shape ``(m,)``; NaN if unknown.
    nd_max_ms: NDArray[np.float64]
    #: Shape ``(m,)``; None without a model.
    msts: Estimates | None

    @classmethod
    def by_one(cls, context: PlanningContext, nodes: tuple[str, ...], model: FittedEq1 | None) -> "GrownPlacements":
        """Add one replica to the present placement of an operator, on each of some nodes."""
        operator, present, weights = context.operator, context.placement, context.cluster.weights
        nd_ms = nd_max_with_each_ms(context.latencies.map, present, operator.driver_node, nodes)
        own = np.fromiter(map(weights.get, nodes, repeat(1.0)), dtype=float, count=len(nodes))
        weight = weight_of(present, weights) + own
        ignores_delay = model is not None and model.law == PROPORTIONAL
        msts = predict_all(model, np.zeros_like(nd_ms) if ignores_delay else nd_ms, weight)
        return cls(present=present, nodes=nodes, nd_max_ms=nd_ms, msts=msts)

    def beat(self, now: SizedPlacement) -> NDArray[np.bool_]:
        """Return, for each node, True if a placement with it may have a higher MST than the present one.

        An uncertain gain is enough under overload: the delay is known to cancel the gain only if even the high end is
        too low. Three readings along one path of growth hardly separate the effects of replicas and delay.
        """
        if self.msts is None or now.mst is None:
            return np.ones(len(self.nodes), dtype=bool)
        worse: NDArray[np.bool_] = self.msts.high <= now.mst.mid
        return ~worse

    def sized(self, index: int) -> SizedPlacement:
        """Return the placement with one of the nodes."""
        nd_ms = float(self.nd_max_ms[index])
        is_predicted = self.msts is not None and not math.isnan(self.msts.mid[index])
        return SizedPlacement(
            tuple(sorted((*self.present, self.nodes[index]))),
            None if math.isnan(nd_ms) else nd_ms,
            self.msts.at(index) if self.msts is not None and is_predicted else None,
        )
