"""Policies with perfect foresight follow a schedule of replicas, such as the ideal of the paper (Fig. 6)."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gesscale.model.decision import Analysis, Plan, Reason, Verdict
from gesscale.model.observation import WorkflowObservation
from gesscale.ports import ClusterState, Knowledge
from testbed.simulator.demand import BestPlacements
from testbed.simulator.scene import Scene
from testbed.workloads.workload import Workload

#: Loads, and how many rows reach an operator for each row that a load offers.
Inflow = tuple[tuple[Workload, float], ...]

#: Share of the processed rows below which a remainder does not count as backlog.
_ROUNDING = 1e-6


@dataclass(slots=True, kw_only=True)
class ScheduledPolicy:
    """Orders the scheduled number of replicas at the best placement; an unchanged number moves no replica.

    It reads no metrics.
    """

    name: str
    #: Scheduled replicas by operator and seconds since the start of the run, valid until the next step.
    replicas: Callable[[str, float], int]
    #: The best placements of each operator.
    best: Mapping[str, BestPlacements]
    _at_s: float = 0.0

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Note the time; see `gesscale.ports.Policy`."""
        del knowledge
        self._at_s = observation.at_s
        return {name: Analysis(operator=name, verdict=Verdict.SAME, reason=Reason.WITHIN_TARGET) for name in self.best}

    def plan(self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge) -> Mapping[str, Plan]:
        """Plan the best placement of the scheduled replicas; see `gesscale.ports.Policy`."""
        del knowledge
        return {name: self._plan(name, cluster.placements.get(name, ())) for name in analyses}

    def _plan(self, operator: str, present: tuple[str, ...]) -> Plan:
        count = self.replicas(operator, self._at_s)
        # Any placement of this size costs the same, so a move would gain nothing.
        placement = present if count == len(present) else self.best[operator][count][1]
        reasons = {1: Reason.OVERLOADED, 0: Reason.WITHIN_TARGET, -1: Reason.UNDERUSED}
        return Plan(
            operator=operator,
            reason=reasons[(count > len(present)) - (count < len(present))],
            before=tuple(sorted(present)),
            placement=tuple(sorted(placement)),
        )


def ideal_replicas(scene: Scene, best: Mapping[str, BestPlacements]) -> Callable[[str, float], int]:
    """Return a function for the replicas that load and backlog of an operator need until the next sample."""
    plans = {name: _ideal_plan(scene, name, best[name]) for name in best}

    def replicas(operator: str, at_s: float) -> int:
        plan = plans[operator]
        return plan[min(int(at_s / scene.sample_s + 1e-9), len(plan) - 1)]

    return replicas


def _ideal_plan(scene: Scene, operator: str, best: BestPlacements) -> tuple[int, ...]:
    """Return the replicas of each sample; rows beyond the capacity of all replicas wait and are processed later."""
    inflow = inflow_of(scene, operator)
    samples = math.ceil(scene.duration_s / scene.sample_s - 1e-9)
    most = samples + math.ceil(scene.drain_limit_s / scene.sample_s)
    plan: list[int] = []
    waiting_rows = 0.0
    while len(plan) < samples or (waiting_rows > 0 and len(plan) < most):
        rows = waiting_rows + scene.sample_s * inflow_rows_per_s(inflow, len(plan) * scene.sample_s, scene.sample_s)
        replicas, _ = best.smallest_for(rows / scene.sample_s)
        carried_rows = best[replicas][0] * scene.sample_s
        waiting_rows = rows - carried_rows if rows > carried_rows * (1 + _ROUNDING) else 0.0
        plan.append(replicas)
    return (*plan, best.smallest_for(0.0)[0])


def needed_rows_per_s(scene: Scene, operator: str, at_s: float) -> float:
    """Return the mean input rate of an operator from an instant until the next sample."""
    return inflow_rows_per_s(inflow_of(scene, operator), at_s, scene.sample_s)


def inflow_of(scene: Scene, operator: str) -> Inflow:
    """Return the loads that reach an operator, with their shares."""
    return tuple((scene.workloads[source], share) for source, share in scene.source_shares(operator).items())


def inflow_rows_per_s(inflow: Inflow, at_s: float, seconds: float) -> float:
    """Return the mean rate of an inflow over a time that starts at an instant."""
    until_s = at_s + seconds
    return sum([share * (load.offered_rows(until_s) - load.offered_rows(at_s)) / seconds for load, share in inflow])
