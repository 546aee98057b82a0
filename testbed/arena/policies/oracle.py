"""The oracle (paper, Fig. 6): it knows the load and the best placements, and has what is needed at each instant."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from gesscale.decision import Analysis, Plan, Reason, Verdict
from gesscale.observation import WorkflowObservation
from gesscale.ports import ClusterState, Knowledge
from testbed.simulator.demand import BestPlacements
from testbed.simulator.scene import Scene
from testbed.workloads.workload import Workload

Inflow = tuple[tuple[Workload, float], ...]
"""Loads, and how many rows each puts before an operator for each row it offers."""


@dataclass(slots=True, kw_only=True)
class OraclePolicy:
    """Has at each step the replicas that the load needs until the next one, where they are best.

    It looks at no metric, so it needs no reading. It is ideal only where its steps are as dense as the samples and
    changes take no time.

    Attributes
    ----------
    scene
        What is to come.
    best
        The best placements of each operator.
    """

    name: ClassVar[str] = "ideal"

    scene: Scene
    best: Mapping[str, BestPlacements]
    _at_s: float = 0.0

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Note the time; see `gesscale.ports.Policy`."""
        del knowledge
        self._at_s = observation.at_s
        return {
            name: Analysis(operator=name, verdict=Verdict.SAME, reason=Reason.WITHIN_TARGET)
            for name in self.scene.workflow.operators
        }

    def plan(
        self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge
    ) -> Mapping[str, Plan]:
        """Go to the best placement; see `gesscale.ports.Policy`."""
        del knowledge
        return {name: self._plan(name, cluster.placements.get(name, ())) for name in analyses}

    def _plan(self, operator: str, present: tuple[str, ...]) -> Plan:
        count, placement = self.best[operator].least(needed_rows_per_s(self.scene, operator, self._at_s))
        if count == len(present):  # as good as any: moving gains nothing that is paid for
            placement = present
        reasons = {1: Reason.OVERLOADED, 0: Reason.WITHIN_TARGET, -1: Reason.UNDERUSED}
        return Plan(
            operator=operator,
            reason=reasons[(count > len(present)) - (count < len(present))],
            before=tuple(sorted(present)),
            placement=tuple(sorted(placement)),
        )


def needed_rows_per_s(scene: Scene, operator: str, at_s: float) -> float:
    """Return the rows per second that are on their way to an operator from an instant until the next sample."""
    return inflow_rows_per_s(inflow_of(scene, operator), at_s, scene.sample_s)


def inflow_of(scene: Scene, operator: str) -> Inflow:
    """Return what reaches an operator in the end."""
    return tuple((scene.workloads[source], share) for source, share in scene.source_shares(operator).items())


def inflow_rows_per_s(inflow: Inflow, at_s: float, seconds: float) -> float:
    """Return the mean rate of an inflow over some seconds from an instant on."""
    until_s = at_s + seconds
    return sum(
        [share * (load.offered_rows(until_s) - load.offered_rows(at_s)) / seconds for load, share in inflow]
    )
