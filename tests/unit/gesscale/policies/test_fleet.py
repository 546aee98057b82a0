"""A fleet: a thousand operators of which hundreds tell nothing, and a large map that is replaced in every step."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from edge import FakeMetrics, observe, reading

from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.loop import ControlLoop
from gesscale.model.decision import MapStatus, Reason
from gesscale.model.observation import MissingReading
from gesscale.model.workflow import BatchCap, Operator, Workflow
from gesscale.options import PolicyOptions
from gesscale.policies.registry import policy_named
from gesscale.ports import ClusterState, Latencies, Node
from latency_map import LatencyMap


@dataclass
class Edge:
    """Nodes, operators on them, and a map for each step; a cluster that is only looked at."""

    maps: list[LatencyMap]
    placements: dict[str, tuple[str, ...]]

    def state(self):
        names = self.maps[0].names
        return ClusterState(nodes={name: Node(name=name) for name in names}, placements=self.placements)

    def current(self, now_s):
        return Latencies(map=self.maps[int(now_s / 60) % len(self.maps)], map_status=MapStatus())


def random_map(nodes, seed):
    """Return a map in which no two nodes are equally far from any third one."""
    half = np.triu(np.random.default_rng(seed).uniform(1, 100, (nodes, nodes)), 1)
    return LatencyMap(names=tuple(f"n{index:04d}" for index in range(nodes)), rtt_ms=half + half.T)


def loop_over(edge, policy, observations):
    workflow = Workflow(
        Operator(name=name, driver_node=on[0], max_replicas=5, cap=BatchCap(rows_per_replica=100))
        for name, on in edge.placements.items()
    )
    return ControlLoop(
        metrics=FakeMetrics(list(observations)),
        latencies=edge,
        policy=policy_named(policy, workflow, PolicyOptions()),
        cluster=edge,
        knowledge=MemoryKnowledge(),
        acts=False,
        rescale_timeout_s=120.0,
    )


def overloaded(name, on, at_s):
    return reading(on, name=name, at_s=at_s, throughput=100, offered=150, saturated=1.0, backlog=9000.0)


def comparable(decision):
    """Return what a decision says besides where it was made."""
    return replace(decision.plan, next_step_after_s=None), decision.analysis.verdict


@pytest.mark.parametrize(("policy", "operators"), [("gesscale-2021", 100), ("gesscale", 20)])
def test_operators_without_metrics_change_nothing_for_the_others(policy, operators):
    names = [f"op-{index:04d}" for index in range(operators)]
    dumb = {name for index, name in enumerate(names) if index % 10 < 3}
    edge = Edge([random_map(200, 1)], {name: (f"n{index % 200:04d}",) for index, name in enumerate(names)})
    readings = [overloaded(name, edge.placements[name], 1000.0) for name in names if name not in dumb]
    lacking = [MissingReading(operator=name, code="metrics-missing") for name in sorted(dumb)]
    decisions = {
        each.operator: each
        for each in loop_over(edge, policy, [observe(*readings, missing_readings=lacking)]).step(1000.0)
    }
    assert list(decisions) == names
    for name in dumb:
        assert decisions[name].plan.change is None
        assert decisions[name].plan.reason is Reason.METRICS_MISSING
    alone = Edge(edge.maps, {name: on for name, on in edge.placements.items() if name not in dumb})
    for each in loop_over(alone, policy, [observe(*readings)]).step(1000.0):
        assert comparable(each) == comparable(decisions[each.operator])
