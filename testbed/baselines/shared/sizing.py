"""What the baselines share that propose a number of replicas: settings, limits, and from a proposal to nodes.

The order of the steps is that of the scale manager in Kanis (2023), section 6.6.4. It leaves open how its proportional
sharing rounds. Here shares go by largest remainder: their sum is exact, and each operator keeps a replica.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import Field

from gesscale.analyze.screening import screen
from gesscale.fields import Duration, SettingsGroup
from gesscale.model.decision import Analysis, Plan, Reason, Verdict
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.model.workflow import Operator, Workflow
from gesscale.plan.placement import nd_max_ms, stay
from gesscale.policies.choosing import ChoosingPolicy, PlanningContext
from gesscale.ports import Knowledge, Policy
from gesscale.wire import MAX_REPLICAS


class SizingSettings(SettingsGroup):
    """What the policies of Kanis's comparison share (2023, section 6.6.4)."""

    cooldown_s: Duration = 300.0
    """For this long after a change of any operator, nothing changes. Default: Kanis 7.3.3."""
    samples_during_cooldown: bool = True
    """Whether figures from the cooldown count later. Default: they do; in the thesis the scaler slept."""
    over_provision: float = Field(1.0, ge=1, le=10)
    """Factor on the replicas of each operator. Default: none (Kanis 6.6.4)."""
    max_step_up: int = Field(15, ge=1, le=MAX_REPLICAS)
    """Replicas that one change adds at most. Default: Kanis 6.6.4."""
    total_replicas: int | None = Field(None, ge=1, le=64 * MAX_REPLICAS)
    """Replicas of all operators together, shared in proportion. Default: any number; the nodes limit each operator.
    Kanis 6.6.4 has 80."""


#: How far a figure may lie from a whole number and still count as one: 5 x 0.14 / 0.7 is 1, not a little
#: more.
ROUNDING = 1e-9


def ceiling(value: float) -> int:
    """Return the least whole number that is not below a value, for which rounding errors do not count.

    Examples
    --------
    >>> ceiling(5 * 0.14 / 0.7 * 1.0000000000000002), ceiling(1.01)
    (1, 2)
    """
    return math.ceil(value - ROUNDING)


def floor(value: float) -> int:
    """Return the greatest whole number that is not above a value, for which rounding errors do not count."""
    return math.floor(value + ROUNDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """How many replicas an operator may have."""

    #: The number.
    replicas: int
    #: What kept it from the proposal, in words; empty where nothing did.
    limits: tuple[str, ...] = ()


def targets(
    proposals: Mapping[str, int], present: Mapping[str, int], operators: Mapping[str, Operator], growth: SizingSettings
) -> Mapping[str, Target]:
    """Return what each operator may have of what is proposed for it."""
    found = {name: _alone(proposal, present[name], operators[name], growth) for name, proposal in proposals.items()}
    if growth.total_replicas is None:
        return found
    others = sum(count for name, count in present.items() if name not in proposals)
    asked = {name: target.replicas for name, target in found.items()}
    if sum(asked.values()) + others <= growth.total_replicas:
        return found
    least = {name: operators[name].min_replicas for name in asked}
    shares = share_out(asked, max(0, growth.total_replicas - others), least)
    return {
        name: target
        if shares[name] == target.replicas
        else Target(
            replicas=shares[name],
            limits=(*target.limits, f"of {target.replicas} its share of {growth.total_replicas} replicas in all"),
        )
        for name, target in found.items()
    }


def share_out(proposals: Mapping[str, int], total: int, least: Mapping[str, int]) -> Mapping[str, int]:
    """Share replicas out in proportion to what is proposed beyond the least.

    Examples
    --------
    The thesis's example (Kanis 2023, 6.4.1): of 60 proposed, 30 are there.

    >>> share_out({"a": 10, "b": 30, "c": 20}, 30, {"a": 1, "b": 1, "c": 1})
    {'a': 5, 'b': 15, 'c': 10}
    """
    beyond = {name: proposal - least[name] for name, proposal in proposals.items()}
    there, wanted = max(0, total - sum(least[name] for name in proposals)), sum(beyond.values())
    if wanted <= there:
        return dict(proposals)
    exact = {name: there * extra / wanted for name, extra in beyond.items()}
    shares = {name: floor(share) for name, share in exact.items()}
    order = sorted(exact, key=lambda name: shares[name] - exact[name])
    for name in order[: there - sum(shares.values())]:
        shares[name] += 1
    return {name: least[name] + shares[name] for name in proposals}


def _alone(proposal: int, now: int, operator: Operator, growth: SizingSettings) -> Target:
    replicas = ceiling(max(0, proposal) * growth.over_provision)
    limits: list[str] = []
    if replicas > now + growth.max_step_up:
        replicas = now + growth.max_step_up
        limits.append(f"at most {growth.max_step_up} more at once")
    if replicas > operator.max_replicas:
        replicas = operator.max_replicas
        limits.append(f"max_replicas is {operator.max_replicas}")
    if replicas < operator.min_replicas:
        replicas = operator.min_replicas
        limits.append(f"min_replicas is {operator.min_replicas}")
    return Target(replicas=replicas, limits=tuple(limits))


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeProposal:
    """How many replicas a policy would give an operator."""

    #: The number, before any limit; None where nothing is known, so that nothing changes.
    replicas: int | None
    #: The reason for it, in a sentence.
    detail: str
    #: Why it stays where nothing is proposed or nothing changes.
    reason: Reason = Reason.WITHIN_TARGET
    #: What the policy gets back for this operator next time, see `gesscale.model.decision.Analysis`.
    memo: str | None = None


@dataclass(frozen=True, slots=True)
class SizingPolicy(ChoosingPolicy):
    """Screens the readings, holds proposals to their limits and pauses, and finds nodes for any number of replicas."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def sizing(self) -> SizingSettings:
        """What proposals are held to."""

    @abstractmethod
    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Say how many replicas each operator should have."""

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Conclude for every operator what it needs; see `gesscale.ports.Policy`."""
        screened = {
            name: screen(name, observation, knowledge, self.options.stabilization_window_s)
            for name in self.workflow.operators
        }
        readings = {name: seen for name, seen in screened.items() if isinstance(seen, OperatorReading)}
        analyses = {name: seen for name, seen in screened.items() if isinstance(seen, Analysis)}
        pause = self._pause(observation.at_s, knowledge)
        if readings and pause and not self.sizing.samples_during_cooldown:
            analyses |= {name: self._stays(reading, knowledge, *pause) for name, reading in readings.items()}
        elif readings:
            proposals = self.proposals(readings, observation, knowledge)
            present = {name: reading.replicas for name, reading in readings.items()}
            asked = {name: proposal.replicas for name, proposal in proposals.items() if proposal.replicas is not None}
            allowed = targets(asked, present, self.workflow.operators, self.sizing)
            analyses |= {
                name: self._analysis(reading, proposals[name], allowed.get(name), pause, knowledge)
                for name, reading in readings.items()
            }
        return {name: analyses[name] for name in self.workflow.operators}

    def plan_more(self, context: PlanningContext) -> Plan:
        """Add replicas up to the wanted number, each on the nearest node or on one that is drawn."""
        analysis, placement = context.analysis, context.placement
        wanted = min(analysis.desired_replicas or 0, context.operator.max_replicas)
        if wanted <= len(placement):
            return stay(analysis, context.cluster, Reason.WITHIN_TARGET)
        while (ranked := self.additions_to(context, placement)).nodes and len(placement) < wanted:
            placement = tuple(sorted((*placement, ranked.nodes[0])))
        rejections = ranked.rejections + self.lost(ranked.nodes)
        if placement == context.placement:
            detail = f"{analysis.detail}; but no node can take one more replica"
            stuck = stay(analysis, context.cluster, Reason.NO_CANDIDATE_NODE, detail)
            return replace(stuck, rejections=rejections)
        missing = wanted - len(placement)
        short = f"; no node can take the other {missing}" if missing else ""
        return self.changed(context, placement, rejections, short)

    def plan_fewer(self, context: PlanningContext) -> Plan:
        """Remove replicas down to the wanted number, the farthest first or as drawn."""
        analysis, present = context.analysis, context.placement
        wanted = max(len(present) if analysis.desired_replicas is None else analysis.desired_replicas, 1)
        kept = max(wanted, context.operator.min_replicas)
        if kept >= len(present):
            return stay(analysis, context.cluster, Reason.WITHIN_TARGET)
        remaining = self.shrunk(context)[len(present) - kept - 1]
        return self.changed(context, remaining, self.lost(remaining))

    def _analysis(
        self,
        reading: OperatorReading,
        proposal: SizeProposal,
        target: Target | None,
        pause: tuple[Reason, str] | None,
        knowledge: Knowledge,
    ) -> Analysis:
        held = replace(self._stays(reading, knowledge, proposal.reason, proposal.detail), memo=proposal.memo)
        if target is None:
            return held
        limits = f" ({'; '.join(target.limits)})" if target.limits else ""
        wanted = replace(
            held, detail=f"{proposal.detail}: {target.replicas} wanted{limits}", desired_replicas=target.replicas
        )
        if target.replicas == reading.replicas:
            at_limit = proposal.replicas is not None and proposal.replicas != reading.replicas and target.limits
            reason = _limit(proposal.replicas or 0, reading.replicas) if at_limit else proposal.reason
            return replace(wanted, reason=reason)
        if pause is not None:
            return replace(wanted, reason=pause[0], detail=f"{wanted.detail}; {pause[1]}")
        more = target.replicas > reading.replicas
        return replace(
            wanted,
            verdict=Verdict.MORE if more else Verdict.FEWER,
            reason=Reason.OVERLOADED if more else Reason.UNDERUSED,
        )

    def _stays(self, reading: OperatorReading, knowledge: Knowledge, reason: Reason, detail: str) -> Analysis:
        driver_node = self.workflow.operators[reading.operator].driver_node
        return Analysis(
            operator=reading.operator,
            verdict=Verdict.SAME,
            reason=reason,
            detail=detail,
            reading=reading,
            nd_max_ms=nd_max_ms(knowledge.latencies.map, reading.placement, driver_node),
        )

    def _pause(self, now_s: float, knowledge: Knowledge) -> tuple[Reason, str] | None:
        changes = [change for name in self.workflow.operators if (change := knowledge.latest(name)) is not None]
        if not changes:
            return None
        since_s = now_s - max(change.at_s for change in changes)
        if since_s >= self.sizing.cooldown_s:
            return None
        return Reason.COOLING_DOWN, f"nothing changes within {self.sizing.cooldown_s:g} s of the last change"


def _limit(proposed: int, present: int) -> Reason:
    return Reason.AT_MAX_REPLICAS if proposed > present else Reason.AT_MIN_REPLICAS


def with_configured_placement(policy: Callable[..., Policy]) -> Callable[..., Policy]:
    """Build a policy that knows no delays on the nearest nodes, or on drawn ones, as `node_choice` says."""
    return lambda workflow, options, own: policy(
        workflow, options, latency_aware=options.node_choice == "nearest", sizing=own
    )


#: The shared settings of every policy that proposes a number of replicas.
ON_NODES = ("stabilization_window_s", "node_choice", "seed")


#: Why one operator keeps the others from a change.
TOGETHER = "all operators are sized together"


def blocking_proposal(
    workflow: Workflow, readings: Mapping[str, OperatorReading], observation: WorkflowObservation
) -> SizeProposal | None:
    """Return why no operator can be sized while one cannot be judged."""
    missing = next((name for name in workflow.topological_order if name not in readings), None)
    if missing is None:
        return None
    if missing in observation.readings:
        detail, reason = f"{missing} is still changing", Reason.RECONFIGURING
    else:
        detail, reason = f"there are no figures of {missing}", Reason.METRICS_MISSING
    return SizeProposal(replicas=None, detail=f"{detail}, and {TOGETHER}", reason=reason)
