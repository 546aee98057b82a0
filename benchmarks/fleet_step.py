"""Measures one step of the loop for a fleet: Analyze and Plan of many operators on many nodes, without Monitor.

Run ``python benchmarks/fleet_step.py [--operators 100] [--nodes 1000] [--overloaded 0.33] [--silent 0.0] [--budget N]
[--runs 3] [--policies ds2 gesscale]``. It prints JSON: for each policy the processor time of the first step
and of the next ones (median, minimum and maximum), seconds, the ratio of the latter to that of the first policy in the
same run, and the growth of resident memory since the map and the readings were built, MiB. The operators are of one
workflow without streams between them, on a map of random places; the overloaded share is saturated and requests a
change in every step, as no change is executed. Each operator has different evidence. The ``--silent`` share has no
readings. With ``--budget`` a limited number of operators may be in change, the most urgent first: the cluster then
accepts orders and discards them, and the JSON has their number per step, and how many of them were of the longest
backlogs. Other work on the machine has little effect on processor time.
"""

import argparse
import json
import os
import statistics
import time
import zlib

import numpy as np
from footprint.resident import resident_mib

from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.loop import ControlLoop
from gesscale.model.decision import Outcome, OutcomeStatus
from gesscale.model.observation import Batch, OperatorReading, WorkflowObservation
from gesscale.model.workflow import BatchCap, Operator, Workflow
from gesscale.monitor.batch_screen import screen_batches
from gesscale.monitor.window import summarise
from gesscale.options import PolicyOptions
from gesscale.plan.change_budget import ChangeBudget
from gesscale.policies.registry import policy_named
from gesscale.ports import ClusterState, Knowledge, Latencies, Node
from latency_map import DelayKind, DelayUnit, LatencyMap
from perfmodel import Reading

POLICIES = ("ds2", "gesscale-2021", "gesscale")
SEED = 20261123
BEGAN_S, PERIOD_S, TRIGGER_S, CAP_ROWS = 9000.0, 60.0, 10.0, 2000
REPLICAS = 3


class Fleet:
    """Ports of the loop over operators that never change, a share of which is overloaded."""

    def __init__(self, operators: int, nodes: int, overloaded: float, silent: float = 0.0) -> None:
        rng = np.random.default_rng(SEED)
        self.names = tuple(f"node-{index:04d}" for index in range(nodes))
        places = rng.uniform(0, 100, (nodes, 2))
        apart_ms = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
        self.delays = LatencyMap.from_delays(self.names, apart_ms, unit=DelayUnit.MS, kind=DelayKind.RTT)
        drivers = rng.integers(0, nodes, operators)
        self.placements = {
            f"operator-{index:04d}": tuple(
                sorted(self.names[node] for node in np.argsort(apart_ms[driver], kind="stable")[:REPLICAS])
            )
            for index, driver in enumerate(drivers)
        }
        self.workflow = Workflow(
            Operator(
                name=name,
                driver_node=self.names[driver],
                min_replicas=1,
                max_replicas=8,
                cap=BatchCap(rows_per_replica=CAP_ROWS),
            )
            for name, driver in zip(self.placements, drivers, strict=True)
        )
        self.busy = frozenset(list(self.placements)[: round(overloaded * operators)])
        self.silent = frozenset(list(self.placements)[operators - round(silent * operators) :])
        self.ordered: list[str] = []

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Accept an order, and discard it."""
        del placement
        self.ordered.append(operator)
        return Outcome(status=OutcomeStatus.ORDERED)

    def state(self) -> ClusterState:
        """Return the nodes and the placements."""
        nodes = {name: Node(name=name, address=name) for name in self.names}
        return ClusterState(nodes=nodes, placements=self.placements)

    def current(self, now_s: float) -> Latencies:
        """Return the map."""
        del now_s
        return Latencies(map=self.delays)

    def observe(self, now_s: float) -> WorkflowObservation:
        """Return the readings of all operators."""
        return WorkflowObservation(
            at_s=now_s, readings={name: self._read(name, now_s) for name in self.placements if name not in self.silent}
        )

    def _read(self, name: str, now_s: float) -> OperatorReading:
        cap = CAP_ROWS * REPLICAS
        rows, seconds = (cap, 12.0) if name in self.busy else (cap // 2, 7.0)
        every_s = max(TRIGGER_S, seconds)
        number = int(now_s / every_s)
        batches = [
            Batch(
                batch_id=index,
                ended_at_s=now_s - every_s * (number - index) - 1,
                rows=rows,
                seconds=seconds,
                nodes=self.placements[name],
                trigger_s=TRIGGER_S,
                cap_rows=cap,
                offered_rows_total=float((rows + (50 if name in self.busy else 0)) * index),
                backlog_rows=float(50 * index + self.backlog(name)) if name in self.busy else 0.0,
                output_rows=rows,
            )
            for index in range(number - 18, number)
        ]
        reading = summarise(name, screen_batches(batches, now_s), now_s=now_s, window_s=60.0, stale_after_s=180.0)
        assert isinstance(reading, OperatorReading), reading
        return reading

    def backlog(self, name: str) -> float:
        """Return the approximate backlog of an overloaded operator."""
        return 20000.0 + 10 * (hash_of(name) % 1000)

    def evidence(self, operator: int = 0) -> tuple[Reading, ...]:
        """Return the evidence of an operator; each operator is a little slower than the one before."""
        return tuple(
            Reading(
                replicas=replicas,
                nd_max_ms=nd_max_ms,
                rows_per_s=190.0 * replicas**0.9 * (1 - nd_max_ms / 1000) * (1 - 1e-5 * operator),
                batch_rows=CAP_ROWS * replicas,
                weight=float(replicas),
                at_s=BEGAN_S - PERIOD_S,
            )
            for replicas, nd_max_ms in ((1, 0.0), (2, 4.0), (3, 6.0), (4, 20.0))
        )


def hash_of(name: str) -> int:
    """Return a number that is the same in every process."""
    return zlib.crc32(name.encode())


class PreparedReadings:
    """Reads the fleet before a step begins, to exclude the time of Monitor."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._seen: dict[float, WorkflowObservation] = {}

    def look(self, now_s: float) -> None:
        """Read the fleet at the instant of the next step."""
        self._seen = {now_s: self._fleet.observe(now_s)}

    def observe(self, now_s: float) -> WorkflowObservation:
        """Return the readings of all operators."""
        return self._seen[now_s]


def steps_s(fleet: Fleet, policy: str, runs: int, budget: int | None = None) -> tuple[float, list[float], int]:
    """Return the times of the first step and the next ones, and the number of changes in the last one."""
    metrics = PreparedReadings(fleet)
    known = Knowledge(readings={name: fleet.evidence(index) for index, name in enumerate(fleet.placements)})
    loop = ControlLoop(
        metrics=metrics,
        latencies=fleet,
        policy=policy_named(policy, fleet.workflow, PolicyOptions()),
        cluster=fleet,
        knowledge=MemoryKnowledge(known=known),
        acts=budget is not None,
        rescale_timeout_s=300.0,
        budget=ChangeBudget(budget),
    )
    took_s, changes = [], 0
    for run in range(runs + 1):
        now_s = BEGAN_S + PERIOD_S * run
        metrics.look(now_s)
        fleet.ordered.clear()
        began_s = time.process_time()
        decisions = loop.step(now_s)
        took_s.append(time.process_time() - began_s)
        changes = sum(decision.plan.change is not None for decision in decisions)
    return took_s[0], took_s[1:], changes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operators", type=int, default=100)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--overloaded", type=float, default=0.33)
    parser.add_argument("--silent", type=float, default=0.0)
    parser.add_argument("--budget", type=int)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--policies", nargs="+", default=POLICIES)
    asked = parser.parse_args()
    fleet = Fleet(asked.operators, asked.nodes, asked.overloaded, asked.silent)
    result: dict[str, object] = dict(vars(asked))
    base_s = 0.0
    for policy in asked.policies:
        before_mib = resident_mib(os.getpid())
        first_s, next_s, changes = steps_s(fleet, policy, asked.runs, asked.budget)
        median_s = statistics.median(next_s)
        base_s = base_s or median_s
        figures: dict[str, object] = {
            "first_s": round(first_s, 3),
            "next_s": [round(figure, 3) for figure in (median_s, min(next_s), max(next_s))],
            f"ratio_to_{asked.policies[0]}": round(median_s / base_s, 2),
            "grown_mib": round(resident_mib(os.getpid()) - before_mib, 1),
            "operators_to_change": changes,
        }
        if asked.budget is not None:
            longest = sorted(fleet.busy, key=fleet.backlog, reverse=True)[: asked.budget]
            figures["orders_of_a_step"] = len(fleet.ordered)
            figures["of_the_longest_backlogs"] = len({*fleet.ordered} & {*longest})
        result[policy] = figures
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
