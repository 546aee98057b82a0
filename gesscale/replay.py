"""A recorded run fed to a policy: at each recorded instant, what it would have decided there, and why.

The loop is the live one. What happens is the record's: batches, placements and changes follow the policy that ran
live. So each decision is an answer to the recorded situation, not a step of another run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.loop import ControlLoop
from gesscale.model.decision import Decision
from gesscale.model.order import Order
from gesscale.monitor.replay import RecordedWorld
from gesscale.ports import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedDecision:
    """What a policy would have decided for one operator at one instant of a recorded run."""

    #: Seconds since the first instant.
    since_start_s: float
    #: The policy's, never carried out.
    decision: Decision
    #: What was decided then; None where nothing is recorded.
    live: Decision | None
    #: The same as it is recorded.
    live_document: Mapping[str, Any] | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether both want the same replicas started and removed; None without a live decision."""
        return None if self.live is None else self.live.plan.change == self.decision.plan.change

    @property
    def same_reason(self) -> bool | None:
        """Whether both give the same reason; None without a live decision."""
        return None if self.live is None else self.live.plan.reason is self.decision.plan.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far the answers agree with the live decisions."""

    #: Decisions with a live one of the same instant.
    compared: int
    #: How many of these want the same nodes started and removed; how many also, or only, say the same reason
    #: (same_change, same_reason).
    same_change: int
    same_reason: int
    #: Decisions that wanted a change. One that is not carried out is wanted again at the next instant (live_changes,
    #: wanted_changes).
    live_changes: int
    wanted_changes: int
    #: Wanted changes that the policy had not wanted an instant before.
    new_proposals: int
    #: The first answer that wants another change than the live decision; None where all agree.
    first_difference: ReplayedDecision | None


def answers_of(
    policy: Policy,
    world: RecordedWorld,
    knowledge: MemoryKnowledge,
    *,
    instants_s: Sequence[float],
    rescale_timeout_s: float,
    excluded_nodes: frozenset[str] = frozenset(),
) -> tuple[ReplayedDecision, ...]:
    """Ask a policy at every recorded instant.

    Parameters
    ----------
    instants_s
        When, seconds since the epoch; see `Recording.instants_s`.
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
    )
    answers = []
    for at_s in instants_s:
        world.now_s = at_s
        for decision in loop.step(at_s):
            recorded = world.live(decision.operator)
            live = None if recorded is None else recorded.decision
            answers.append(
                ReplayedDecision(
                    since_start_s=at_s - instants_s[0],
                    decision=decision,
                    live=live,
                    live_document=None if recorded is None else recorded.document,
                )
            )
            if live is not None and live.acted:
                knowledge.remember_order(live.operator, Order(at_s=at_s, placement=live.plan.placement))
    return tuple(answers)


def agreement(answers: Sequence[ReplayedDecision]) -> Agreement:
    """Compare the answers with the live decisions."""
    wishes = [answer.decision.plan.change for answer in answers]
    return Agreement(
        compared=sum(answer.agrees is not None for answer in answers),
        same_change=sum(answer.agrees is True for answer in answers),
        same_reason=sum(answer.same_reason is True for answer in answers),
        live_changes=sum(answer.live is not None and answer.live.plan.change is not None for answer in answers),
        wanted_changes=sum(wish is not None for wish in wishes),
        new_proposals=sum(_new_proposals(listed) for listed in _by_operator(answers)),
        first_difference=next((answer for answer in answers if answer.agrees is False), None),
    )


def _by_operator(answers: Sequence[ReplayedDecision]) -> Iterable[list[ReplayedDecision]]:
    grouped: dict[str, list[ReplayedDecision]] = {}
    for answer in answers:
        grouped.setdefault(answer.decision.operator, []).append(answer)
    return grouped.values()


def _new_proposals(answers: Sequence[ReplayedDecision]) -> int:
    wishes = [None, *(answer.decision.plan.change for answer in answers)]
    return sum(wish is not None and wish != before for before, wish in pairwise(wishes))
