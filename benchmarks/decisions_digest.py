"""Prints a digest of all decisions by policy and case, to show that an optimisation changes none of them.

Run ``PYTHONHASHSEED=0 python benchmarks/decisions_digest.py [--policies gesscale ds2] [--seeds 2] > before.json``
before a change and after it, and compare the two files. It runs a fleet whose operators, nodes and delays differ (some
delays are unknown, some nodes are faster than others, some take no replica), and arena cases with separate seeds. A
digest covers the whole decision with all digits: analysis, model, plan, costs, sentences, memos
and candidates that lost. Without the environment variable the order of sets differs between processes.
"""

import argparse
import hashlib
import json
import os
from collections.abc import Sequence

import numpy as np
from fleet_step import BEGAN_S, PERIOD_S, Fleet

from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.loop import ControlLoop
from gesscale.model.decision import Decision
from gesscale.model.observation import Batch, OperatorReading, WorkflowObservation
from gesscale.monitor.batch_screen import screen_batches
from gesscale.monitor.window import summarise
from gesscale.options import PolicyOptions
from gesscale.policies.registry import policy_named
from gesscale.ports import ClusterState, Knowledge, Node
from latency_map import LatencyMap
from testbed.arena.case import Case
from testbed.arena.experiments.experiment import Experiment, read_experiment
from testbed.arena.runner import run_case

STEPS = 6
FIRST_SEED = 100
"""The league's seeds are below."""
CASES = (
    ("standard", "", ("nyc:any", "spikes", "kanis-random")),
    ("league", "default", ("steps",)),
    ("league", "plant=flink", ("steps", "kanis-random")),
)
"""Experiment, variant and loads; on Flink a change stops the job."""


class Digest:
    """Running digest of decisions."""

    def __init__(self) -> None:
        self._hash, self.decisions, self.changes = hashlib.sha256(), 0, 0

    def add(self, decisions: Sequence[Decision]) -> None:
        """Add the decisions of a step."""
        for decision in decisions:
            self._hash.update(repr(decision).encode())
            self.decisions += 1
            self.changes += decision.plan.change is not None

    def as_dict(self) -> dict[str, object]:
        """Return the digest with the number of decisions and changes."""
        digest = self._hash.hexdigest()[:16]
        return {"digest": digest, "decisions": self.decisions, "changes": self.changes}


class MixedFleet(Fleet):
    """A fleet of different operators and nodes whose loads vary from step to step."""

    def __init__(self, operators: int, nodes: int) -> None:
        super().__init__(operators, nodes, overloaded=0.4)
        rng = np.random.default_rng(FIRST_SEED)
        unknown = rng.random((nodes, nodes)) < 0.01
        apart_ms = np.array(self.delays.rtt_ms)
        apart_ms[unknown | unknown.T] = np.nan
        np.fill_diagonal(apart_ms, 0.0)
        self.delays = LatencyMap(names=self.names, rtt_ms=apart_ms)
        self.weights = rng.choice([1.0, 1.0, 1.0, 0.5, 2.0], nodes).tolist()
        self.problems = rng.random(nodes) < 0.1
        self.levels = rng.uniform(0.3, 1.6, operators)
        self.index = {name: index for index, name in enumerate(self.placements)}

    def state(self) -> ClusterState:
        """Return the nodes and the placements."""
        nodes = {
            name: Node(name=name, address=name, weight=weight, problem="it is cordoned" if problem else "")
            for name, weight, problem in zip(self.names, self.weights, self.problems, strict=True)
        }
        return ClusterState(nodes=nodes, placements=self.placements)

    def observe(self, now_s: float) -> WorkflowObservation:
        """Return readings of most operators."""
        readings = {
            name: self._reading(name, now_s) for name, index in self.index.items() if (index + int(now_s / 60)) % 17
        }
        return WorkflowObservation(at_s=now_s, readings=readings)

    def _reading(self, name: str, now_s: float) -> OperatorReading:
        index = self.index[name]
        rng = np.random.default_rng([FIRST_SEED, index, int(now_s)])
        level = self.levels[index] * (1 + 0.3 * np.sin(now_s / 300 + index))
        offered = 1000.0 * level
        batches, backlog, total = [], 3000.0 * max(0.0, level - 1), offered * 10 * (now_s // 10)
        for number in range(18):
            rows = int(min(6000, offered * 5 + backlog * 0.1))
            seconds = 0.3 + rows / (550.0 * rng.uniform(0.95, 1.05)) + 0.02 * (index % 7)
            ended_at_s = now_s - 10.0 * (18 - number) - 1 + rng.uniform(0, 0.5)
            batches.append(
                Batch(
                    batch_id=int(now_s / 10) + number,
                    ended_at_s=ended_at_s,
                    rows=rows,
                    seconds=seconds,
                    nodes=self.placements[name],
                    trigger_s=10.0,
                    cap_rows=6000 if index % 3 else None,
                    offered_rows_total=total + offered * 10 * number,
                    backlog_rows=backlog + (50.0 * number if level > 1 else 0.0),
                    output_rows=rows,
                )
            )
        reading = summarise(name, screen_batches(batches, now_s), now_s=now_s, window_s=60.0, stale_after_s=180.0)
        assert isinstance(reading, OperatorReading), reading
        return reading


def fleet(policy: str, operators: int, nodes: int) -> dict[str, object]:
    """Return the digest of a policy's decisions for a fleet."""
    ports, found = MixedFleet(operators, nodes), Digest()
    known = Knowledge(readings=dict.fromkeys(ports.placements, ports.evidence()))
    loop = ControlLoop(
        metrics=ports,
        latencies=ports,
        policy=policy_named(policy, ports.workflow, PolicyOptions()),
        cluster=ports,
        knowledge=MemoryKnowledge(known=known),
        acts=False,
        rescale_timeout_s=300.0,
    )
    for step in range(STEPS):
        found.add(loop.step(BEGAN_S + PERIOD_S * step))
    return found.as_dict()


def arena(experiment: Experiment, case: Case) -> dict[str, object]:
    """Return the digest of a policy's decisions in one case of the arena, and its scores."""
    found = Digest()
    result = run_case(experiment, case, on_decisions=found.add)
    scores = hashlib.sha256(repr(result.metrics).encode()).hexdigest()[:16]
    return {**found.as_dict(), "scores": scores}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policies", nargs="+", default=["gesscale", "gesscale-2021", "ds2"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--operators", type=int, default=80)
    parser.add_argument("--nodes", type=int, default=150)
    given = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        raise SystemExit("expected PYTHONHASHSEED=0, so that sets have the same order in all runs")
    result: dict[str, dict[str, object]] = {}
    for policy in given.policies:
        digests = result[policy] = {"fleet": fleet(policy, given.operators, given.nodes)}
        for name, variant, workloads in CASES:
            experiment = read_experiment(name).changed({"seeds": 1}, "this benchmark")
            for workload in workloads:
                for seed in range(FIRST_SEED, FIRST_SEED + given.seeds):
                    case = Case(workload=workload, seed=seed, policy=policy, variant=variant)
                    digests[f"{name} {variant} {workload} {seed}"] = arena(experiment, case)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
