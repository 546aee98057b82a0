"""The controller as a process that can be killed: ``python -m testbed.chaos.controller FOLDER``."""

import json
import logging
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from gesscale.assembly import build_loop
from gesscale.clock import SystemClock
from gesscale.errors import GesscaleError
from gesscale.model.decision import Analysis, Decision, Plan, Reason, Verdict
from gesscale.model.document import decision_document
from gesscale.model.observation import WorkflowObservation
from gesscale.plan.node_ranking import keep_placement, nd_max_ms
from gesscale.policies.guarded import GuardedPolicy
from gesscale.ports import ClusterState, Knowledge
from gesscale.settings import load_settings
from testbed.chaos.settings import SETTINGS, STEPS, read_order


@dataclass(frozen=True, slots=True)
class OrderedPlacement:
    """Plans the ordered placement of an operator.

    Like other policies, it changes nothing without metrics, unless no replica is left: then there is nothing to
    remove, and no metrics arrive until one is started.
    """

    name: ClassVar[str] = "ordered"

    #: Returns the ordered nodes by operator.
    ordered: Callable[[], Mapping[str, tuple[str, ...]]]
    #: The node of the drivers.
    driver_node: str

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Return the readings without a verdict; see `gesscale.ports.Policy`."""
        del knowledge
        read = {
            name: Analysis(operator=name, verdict=Verdict.SAME, reason=Reason.OVERRIDDEN, reading=reading)
            for name, reading in observation.readings.items()
        }
        unread = {
            name: Analysis(
                operator=name, verdict=Verdict.UNKNOWN, reason=Reason.METRICS_MISSING, detail=str(missing.problem)
            )
            for name, missing in observation.missing_readings.items()
        }
        return {**read, **unread}

    def plan(self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge) -> Mapping[str, Plan]:
        """Plan the ordered placements; see `gesscale.ports.Policy`."""
        ordered = self.ordered()
        return {name: self._plan(each, ordered, cluster, knowledge) for name, each in analyses.items()}

    def _plan(
        self, analysis: Analysis, ordered: Mapping[str, tuple[str, ...]], cluster: ClusterState, knowledge: Knowledge
    ) -> Plan:
        name = analysis.operator
        if cluster.problem or name not in cluster.placements:
            return keep_placement(
                analysis, cluster, Reason.CLUSTER_UNAVAILABLE, cluster.problem or "its driver does not run"
            )
        placement, before = ordered.get(name), cluster.placements[name]
        present = {*before, *cluster.starting.get(name, ())}
        if placement is None or (analysis.reading is None and present):
            return keep_placement(analysis, cluster)
        stale = knowledge.latencies.map_status.stale
        if stale and set(before) - set(placement):
            return keep_placement(analysis, cluster, Reason.LATENCY_MAP_STALE, stale)
        delays = knowledge.latencies.map
        return Plan(
            operator=name,
            reason=Reason.OVERRIDDEN,
            detail="drawn by the chaos plan",
            before=before,
            placement=placement,
            nd_max_ms=None if delays is None else nd_max_ms(delays, placement, self.driver_node),
        )


def step_line(decision: Decision) -> str:
    """Return a decision as a line of JSON, with a flag if its metrics or latency map were not valid."""
    reading = decision.analysis.reading
    untrusted = bool(reading is None or reading.problem or decision.latency_map.stale)
    return json.dumps({**decision_document(decision), "untrusted": untrusted}) + "\n"


def unsafe_removals(steps: str) -> int:
    """Count the replicas that were removed in untrusted steps; an incomplete last line is ignored."""
    lines = (json.loads(line) for line in steps.splitlines(keepends=True) if line.endswith("\n"))
    return sum(len(line["outcome"]["removed"]) for line in lines if line["untrusted"])


def control(folder: Path) -> None:
    """Run the loop that the folder's settings describe, until SIGTERM."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    settings = load_settings(folder / SETTINGS)
    built = build_loop(settings, time.time())
    (operator,) = settings.workflow.operators.values()
    policy = GuardedPolicy(OrderedPlacement(lambda: read_order(folder), operator.driver_node))
    loop = replace(built, policy=policy)
    clock = SystemClock()
    clock.stop_on_signals()
    with (folder / STEPS).open("a") as steps:

        def report(decisions: tuple[Decision, ...]) -> None:
            steps.write("".join(step_line(each) for each in decisions))
            steps.flush()

        loop.run(clock, settings.monitor.period_s, report, immediately=True)
    loop.knowledge.close()


if __name__ == "__main__":
    try:
        control(Path(sys.argv[1]))
    except GesscaleError as error:
        sys.exit(f"error[{error.code}]: {error}")
