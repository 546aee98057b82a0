"""Replays a recorded run: the decisions of a policy at each recorded instant, compared with the live ones.

The loop is the live one. Batches, placements and changes come from the record, so they follow the policy that ran live.
Each decision responds to the recorded situation; its consequences are not simulated.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from gesscale.knowledge.memory import MemoryKnowledge, order_of
from gesscale.loop import ControlLoop
from gesscale.model.decision import Decision
from gesscale.model.workflow import Workflow
from gesscale.monitor.replay import RecordedWorld
from gesscale.plan.directives import Directive
from gesscale.ports import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedDecision:
    """Decision of a policy for one operator at one instant of a recorded run."""

    #: Seconds since the first instant.
    since_start_s: float
    #: Decision of the policy, never applied.
    decision: Decision
    #: The live decision; None if none is recorded.
    live: Decision | None
    #: The live decision as recorded.
    live_document: Mapping[str, Any] | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether both have the same change; None without a live decision."""
        return None if self.live is None else self.live.plan.change == self.decision.plan.change

    @property
    def same_reason(self) -> bool | None:
        """Whether both have the same reason; None without a live decision."""
        return None if self.live is None else self.live.plan.reason is self.decision.plan.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Agreement of the replayed decisions with the live ones."""

    #: Decisions with a live decision at the same instant.
    compared: int
    #: Those with the same change, and those with the same reason.
    same_change: int
    same_reason: int
    #: Live and replayed decisions with a change. A change that is not applied repeats at the next instant.
    live_changes: int
    replayed_changes: int
    #: Replayed changes that differ from that of the previous instant.
    new_proposals: int
    #: The first decision whose change differs from the live one; None if all agree.
    first_difference: ReplayedDecision | None


def replay_policy(
    policy: Policy,
    world: RecordedWorld,
    knowledge: MemoryKnowledge,
    workflow: Workflow,
    *,
    instants_s: Sequence[float],
    rescale_timeout_s: float,
    excluded_nodes: frozenset[str] = frozenset(),
    node_prices: Mapping[str, float] = MappingProxyType({}),
) -> tuple[ReplayedDecision, ...]:
    """Return the decisions of a policy at every recorded instant.

    Parameters
    ----------
    instants_s
        Seconds since the epoch; see `Recording.instants_s`.
    """
    loop = ControlLoop(
        metrics=world,
        latencies=world,
        policy=policy,
        cluster=world,
        knowledge=knowledge,
        acts=False,
        rescale_timeout_s=rescale_timeout_s,
        excluded_nodes=excluded_nodes,
        node_prices=node_prices,
        directives={name: Directive(operator=each, acts=False) for name, each in workflow.operators.items()},
    )
    replayed = []
    for at_s in instants_s:
        world.now_s = at_s
        for decision in loop.step(at_s):
            recorded = world.live(decision.operator)
            live = None if recorded is None else recorded.decision
            replayed.append(
                ReplayedDecision(
                    since_start_s=at_s - instants_s[0],
                    decision=decision,
                    live=live,
                    live_document=None if recorded is None else recorded.document,
                )
            )
            if live is not None and (order := order_of(live)) is not None:
                knowledge.remember_order(live.operator, order)
    return tuple(replayed)


def compare_decisions(replayed: Sequence[ReplayedDecision]) -> Agreement:
    """Compare the replayed decisions with the live ones."""
    changes = [each.decision.plan.change for each in replayed]
    return Agreement(
        compared=sum(each.agrees is not None for each in replayed),
        same_change=sum(each.agrees is True for each in replayed),
        same_reason=sum(each.same_reason is True for each in replayed),
        live_changes=sum(each.live is not None and each.live.plan.change is not None for each in replayed),
        replayed_changes=sum(change is not None for change in changes),
        new_proposals=sum(_new_proposals(listed) for listed in _by_operator(replayed)),
        first_difference=next((each for each in replayed if each.agrees is False), None),
    )


def _by_operator(replayed: Sequence[ReplayedDecision]) -> Iterable[list[ReplayedDecision]]:
    grouped: dict[str, list[ReplayedDecision]] = {}
    for each in replayed:
        grouped.setdefault(each.decision.operator, []).append(each)
    return grouped.values()


def _new_proposals(replayed: Sequence[ReplayedDecision]) -> int:
    changes = [None, *(each.decision.plan.change for each in replayed)]
    return sum(change is not None and change != before for before, change in pairwise(changes))
