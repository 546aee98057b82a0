"""Workflows for the trials of AuTraScale+: rescales are immediate, a step takes a minute."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from edge import known, observe, operator, reading, workflow

from gesscale.model.decision import Verdict
from gesscale.model.observation import Batch
from gesscale.model.order import Order
from gesscale.policies import policy_named
from gesscale.settings.analyze import AnalyzeSettings
from testbed.baselines.autrascale.situation import AutrascaleMemo, AutrascaleSettings

TRIGGER_S = 10.0


def op(name="op", *upstream, most=40, **limits):
    return operator(name, upstream=upstream, max_replicas=most, **limits)


ALONE = workflow(op(most=8))
CHAIN = workflow(op("a"), op("b", "a"), op("c", "b"), op("d", "c"))


def policy(flow=ALONE, **given):
    return policy_named("autrascale", flow, AnalyzeSettings(autrascale=AutrascaleSettings(**given)))


def seen(name, replicas, *, offered, throughput, busy, at_s, waiting=0.0, **changes):
    """Return a reading whose batches fill this share of their interval."""
    nodes = tuple(f"n{index:03}" for index in range(replicas))
    batch = Batch(
        batch_id=1,
        ended_at_s=at_s,
        rows=round(throughput * TRIGGER_S),
        seconds=busy * TRIGGER_S,
        nodes=nodes,
        trigger_s=TRIGGER_S,
        backlog_rows=waiting,
    )
    made = reading(nodes, name=name, at_s=at_s, throughput=throughput, offered=offered, backlog=waiting)
    return replace(
        made, **{"busy_share": busy, "trigger_s": TRIGGER_S, "warm_batches": (batch,), "batches": (batch,), **changes}
    )


@dataclass
class World:
    """A workflow under a load, stepped once a minute; topics between operators take all rows.

    `rate` tells the rows/s offered at a second, `capacity` those that an operator sustains with so many replicas.
    """

    policy: object
    rate: Callable[[float], float]
    capacity: Callable[[str, int], float]
    replicas: dict[str, int]
    selectivity: Mapping[str, float] = field(default_factory=dict)
    downtime_s: float = 0.0
    waiting: dict[str, float] = field(default_factory=dict)
    memos: dict[str, str] = field(default_factory=dict)
    changes: dict[str, tuple[Order, ...]] = field(default_factory=dict)
    trajectory: list[tuple[int, ...]] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    at_s: float = 0.0

    def run(self, minutes: int) -> "World":
        for _ in range(minutes):
            self.step()
        return self

    def step(self) -> None:
        self.at_s += 60.0
        flow, readings, handed = self.policy.workflow, [], {}
        for name in flow.topological_order:
            before = flow.upstream(name)
            offered = sum(handed[other] for other in before) if before else self.rate(self.at_s)
            able, there = self.capacity(name, self.replicas[name]), self.waiting.get(name, 0.0)
            done = min(able, offered + there / 60)
            self.waiting[name] = there = max(0.0, there + (offered - done) * 60)
            handed[name] = done * self.selectivity.get(name, 1.0)
            readings.append(
                seen(
                    name,
                    self.replicas[name],
                    offered=offered,
                    throughput=done,
                    busy=min(1.0, done / able),
                    at_s=self.at_s,
                    waiting=there if there > 1 else 0.0,
                )
            )
        knowledge = known(memos=self.memos, orders=self.changes)
        for name, found in self.policy.analyze(observe(*readings), knowledge).items():
            if found.memo is not None:
                self.memos[name] = found.memo
            if found.verdict in {Verdict.MORE, Verdict.FEWER}:
                self.replicas[name] = found.desired_replicas
                self.waiting[name] += self.downtime_s * self.rate(self.at_s)
                change = Order(at_s=self.at_s, placement=(), downtime_s=self.downtime_s)
                self.changes[name] = (change,)
            self.details.append(found.detail)
        self.trajectory.append(tuple(self.replicas.values()))

    @property
    def memo(self) -> AutrascaleMemo:
        return AutrascaleMemo.model_validate_json(self.memos[self.policy.workflow.topological_order[0]])

    @property
    def tried(self) -> list[tuple[int, ...]]:
        """Every configuration that ran, in order."""
        return [now for before, now in pairwise([None, *self.trajectory]) if now != before]


def alone(rate, *, replicas=1, each=100.0, **more):
    """Return one operator with this capacity per replica, rows/s."""
    offered = rate if callable(rate) else lambda _: rate
    given = {key: more.pop(key) for key in list(more) if key in AutrascaleSettings.model_fields}
    return World(policy(**durations(given)), offered, lambda _, count: each * count, {"op": replicas}, **more)


def durations(given):
    """Return settings by their configuration names."""
    return {name.removesuffix("_s"): value for name, value in given.items()}


def word_count(**given):
    """Return four operators under 350,000 rows/s, which the second doubles."""
    rates = {"a": 130e3, "b": 90e3, "c": 60e3, "d": 70e3}
    return World(
        policy(CHAIN, event_latency=86400.0, **given),
        lambda _: 350e3,
        lambda name, count: rates[name] * count,
        dict.fromkeys("abcd", 1),
        selectivity={"b": 2.0},
    )
