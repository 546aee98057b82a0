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
    """What a policy would have decided for one operator at one instant of a recorded run.

    Attributes
    ----------
    since_start_s
        Seconds since the first instant.
    decision
        The policy's, never carried out.
    live
        What was decided then; None where nothing is recorded.
    live_document
        The same as it is recorded.
    """

    since_start_s: float
    decision: Decision
    live: Decision | None
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
    """How far the answers agree with the live decisions.

    Attributes
    ----------
    compared
        Decisions with a live one of the same instant.
    same_change, same_reason
        How many of these want the same nodes started and removed; how many also, or only, say the same reason.
    live_changes, wanted_changes
        Decisions that wanted a change. One that is not carried out is wanted again at the next instant.
    new_proposals
        Wanted changes that the policy had not wanted an instant before.
    first_difference
        The first answer that wants another change than the live decision; None where all agree.
    """

    compared: int
    same_change: int
    same_reason: int
    live_changes: int
    wanted_changes: int
    new_proposals: int
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
    policy
        Who is asked.
    world
        The recorded run.
    knowledge
        What was known before it. It learns the evidence that the policy finds. It also learns the orders that were
        given live, each after the instant of its decision.
    instants_s
        When, seconds since the epoch; see `Recording.instants_s`.
    rescale_timeout_s, excluded_nodes
        As in `gesscale.loop.ControlLoop`.

    Returns
    -------
    tuple of ReplayedDecision
        In order of time, one for each operator and instant.
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
    """Compare the answers with the live decisions.

    Parameters
    ----------
    answers
        Of `answers_of`.

    Returns
    -------
    Agreement
        All zero without live decisions, but for the wishes.
    """
    wishes = [answer.decision.plan.change for answer in answers]
    return Agreement(
        compared=sum(answer.agrees is not None for answer in answers),
        same_change=sum(answer.agrees is True for answer in answers),
        same_reason=sum(answer.same_reason is True for answer in answers),
        live_changes=sum(
            answer.live is not None and answer.live.plan.change is not None for answer in answers
        ),
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
