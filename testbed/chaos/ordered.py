"""A policy that orders what somebody else has drawn: the loop around it is the real one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from gesscale.model.decision import Analysis, Plan, Reason, Verdict
from gesscale.model.observation import WorkflowObservation
from gesscale.plan.placement import nd_max_ms
from gesscale.plan.staying import stay
from gesscale.ports import ClusterState, Knowledge


@dataclass(frozen=True, slots=True)
class OrderedPlacement:
    """Plans the wanted placement of an operator.

    As other policies, it changes nothing without figures; but where no replica is left, there is nothing to remove, and
    no figure would come before there is one.

    Attributes
    ----------
    wanted
        Returns the nodes by operator.
    driver_node
        The node of the drivers.
    """

    name: ClassVar[str] = "ordered"

    wanted: Callable[[], Mapping[str, tuple[str, ...]]]
    driver_node: str

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Report what was read; see `gesscale.ports.Policy`."""
        del knowledge
        read = {
            name: Analysis(operator=name, verdict=Verdict.SAME, reason=Reason.OVERRIDDEN, reading=reading)
            for name, reading in observation.readings.items()
        }
        unread = {
            name: Analysis(
                operator=name, verdict=Verdict.UNKNOWN, reason=Reason.METRICS_MISSING, detail=missing.detail
            )
            for name, missing in observation.missing_readings.items()
        }
        return {**read, **unread}

    def plan(
        self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge
    ) -> Mapping[str, Plan]:
        """Plan the wanted placements; see `gesscale.ports.Policy`."""
        wanted = self.wanted()
        return {name: self._plan(each, wanted, cluster, knowledge) for name, each in analyses.items()}

    def _plan(
        self,
        analysis: Analysis,
        wanted: Mapping[str, tuple[str, ...]],
        cluster: ClusterState,
        knowledge: Knowledge,
    ) -> Plan:
        name = analysis.operator
        if cluster.problem or name not in cluster.placements:
            return stay(
                analysis, cluster, Reason.CLUSTER_UNAVAILABLE, cluster.problem or "its driver does not run"
            )
        placement, before = wanted.get(name), cluster.placements[name]
        there = {*before, *cluster.coming.get(name, ())}
        if placement is None or (analysis.reading is None and there):
            return stay(analysis, cluster)
        stale = knowledge.latencies.standing.stale
        if stale and set(before) - set(placement):
            return stay(analysis, cluster, Reason.LATENCY_MAP_STALE, stale)
        delays = knowledge.latencies.map
        return Plan(
            operator=name,
            reason=Reason.OVERRIDDEN,
            detail="it was drawn",
            before=before,
            placement=placement,
            nd_max_ms=None if delays is None else nd_max_ms(delays, placement, self.driver_node),
        )
