"""Base of the baselines that propose a number of replicas: settings, limits, cooldown, and the choice of nodes.

The order of the steps follows the scale manager of Kanis (2023), section 6.6.4, which does not define the rounding of
its proportional sharing. Here it uses the largest remainder: the sum is exact, and each operator keeps a replica.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import Field

from gesscale.analyze.readiness import actionable_reading
from gesscale.fields import MIN_DURATION_S, Duration, SettingsGroup
from gesscale.model.decision import Analysis, Plan, Reason, Verdict
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.model.order import Order
from gesscale.model.workflow import Operator, Workflow
from gesscale.plan.node_ranking import keep_placement, nd_max_ms
from gesscale.policies.base import ChoosingPolicy, PlanningContext
from gesscale.policies.details import NO_OTHER_NODE, at_maximum, at_minimum
from gesscale.ports import Knowledge, Policy
from gesscale.wire import MAX_REPLICAS


class SizingSettings(SettingsGroup):
    """Common settings of the policies in Kanis's comparison (2023, section 6.6.4)."""

    cooldown_s: Duration = 300.0
    """No operator changes for this long after a change of any operator. Default: Kanis 7.3.3."""
    cooldown_from: Literal["order", "end"] = "order"
    """The cooldown begins with the order of a change, or with its end, when the ordered replicas first work. Default:
    the order. Kanis 6.6.4 has the end, but his 26 to 27 changes in 140 minutes are one each 5 min 15 s."""
    samples_during_cooldown: bool = True
    """Use samples from the cooldown later. Default: yes; in the thesis the scaler slept."""
    over_provision: float = Field(1.0, ge=0.1, le=10)
    """Factor on the replicas of each operator; below 1 it decreases them. Default: none (Kanis 6.6.4)."""
    max_step_up: int = Field(15, ge=1, le=MAX_REPLICAS)
    """Maximum number of replicas that one change adds. Default: Kanis 6.6.4."""
    total_replicas: int | None = Field(None, ge=1, le=64 * MAX_REPLICAS)
    """Most replicas of all operators together. Default: no limit but the nodes. Kanis 6.6.4 has 80."""
    above_total: Literal["share", "cancel"] = "share"
    """Beyond `total_replicas`: share them in proportion, or cancel the change of all operators. Default: share, as in
    Kanis's runs; his 6.6.4 has both."""


#: Only the limits of the operators, for policies whose settings are no `SizingSettings`.
UNLIMITED = SizingSettings.model_validate({"cooldown": MIN_DURATION_S, "max_step_up": MAX_REPLICAS})


#: Tolerance within which a figure counts as a whole number: 5 x 0.14 / 0.7 is 1, not slightly more.
ROUNDING = 1e-9


def ceiling(value: float) -> int:
    """Round up to a whole number, ignoring rounding errors.

    Examples
    --------
    >>> ceiling(5 * 0.14 / 0.7 * 1.0000000000000002), ceiling(1.01)
    (1, 2)
    """
    return math.ceil(value - ROUNDING)


def floor(value: float) -> int:
    """Round down to a whole number, ignoring rounding errors."""
    return math.floor(value + ROUNDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Number of replicas of an operator after all limits."""

    #: The number.
    replicas: int
    #: The limits that reduced or raised the proposal, as text; empty if none did.
    limits: tuple[str, ...] = ()
    #: Whether the operators together requested too many, so that none changes.
    cancelled: bool = False


def targets(
    proposals: Mapping[str, int], present: Mapping[str, int], operators: Mapping[str, Operator], growth: SizingSettings
) -> Mapping[str, Target]:
    """Apply all limits to the proposals."""
    found = {name: _alone(proposal, present[name], operators[name], growth) for name, proposal in proposals.items()}
    if growth.total_replicas is None:
        return found
    without_proposal = sum(count for name, count in present.items() if name not in proposals)
    proposed = {name: target.replicas for name, target in found.items()}
    requested = sum(proposed.values()) + without_proposal
    if requested <= growth.total_replicas:
        return found
    if growth.above_total == "cancel":
        limit = f"{requested} replicas requested, total_replicas is {growth.total_replicas}"
        return {name: Target(replicas=present[name], limits=(limit,), cancelled=True) for name in found}
    least = {name: operators[name].min_replicas for name in proposed}
    shares = proportional_shares(proposed, max(0, growth.total_replicas - without_proposal), least)
    return {
        name: target
        if shares[name] == target.replicas
        else Target(
            replicas=shares[name],
            limits=(*target.limits, f"its share of {growth.total_replicas} replicas, {target.replicas} requested"),
        )
        for name, target in found.items()
    }


def proportional_shares(proposals: Mapping[str, int], total: int, least: Mapping[str, int]) -> Mapping[str, int]:
    """Distribute a total in proportion to the proposals beyond the minimum of each operator.

    Examples
    --------
    The example of the thesis (Kanis 2023, 6.4.1): 60 are proposed, 30 are available.

    >>> proportional_shares({"a": 10, "b": 30, "c": 20}, 30, {"a": 1, "b": 1, "c": 1})
    {'a': 5, 'b': 15, 'c': 10}
    """
    beyond = {name: proposal - least[name] for name, proposal in proposals.items()}
    available, requested = max(0, total - sum(least[name] for name in proposals)), sum(beyond.values())
    if requested <= available:
        return dict(proposals)
    exact = {name: available * extra / requested for name, extra in beyond.items()}
    shares = {name: floor(share) for name, share in exact.items()}
    order = sorted(exact, key=lambda name: shares[name] - exact[name])
    for name in order[: available - sum(shares.values())]:
        shares[name] += 1
    return {name: least[name] + shares[name] for name in proposals}


def _alone(proposal: int, now: int, operator: Operator, growth: SizingSettings) -> Target:
    replicas = ceiling(max(0, proposal) * growth.over_provision)
    limits: list[str] = []
    if replicas > now + growth.max_step_up:
        replicas = now + growth.max_step_up
        limits.append(f"max_step_up is {growth.max_step_up}")
    if replicas > operator.max_replicas:
        replicas = operator.max_replicas
        limits.append(at_maximum(operator.max_replicas))
    if replicas < operator.min_replicas:
        replicas = operator.min_replicas
        limits.append(at_minimum(operator.min_replicas))
    return Target(replicas=replicas, limits=tuple(limits))


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeProposal:
    """Number of replicas that a policy proposes for an operator."""

    #: The number before any limit; None means no change.
    replicas: int | None
    #: Explanation for the decision.
    detail: str
    #: Reason of the decision if nothing is proposed or nothing changes.
    reason: Reason = Reason.WITHIN_TARGET
    #: Memo of the policy for this operator, see `gesscale.model.decision.Analysis`.
    memo: str | None = None


@dataclass(frozen=True, slots=True)
class SizingPolicy(ChoosingPolicy):
    """Base policy: screens readings, applies limits and cooldown to proposals, and chooses nodes."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def sizing(self) -> SettingsGroup:
        """Settings of the policy."""

    @property
    def limits(self) -> SizingSettings:
        """Limits and cooldown of the proposals."""
        return self.sizing if isinstance(self.sizing, SizingSettings) else UNLIMITED

    @abstractmethod
    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Propose a number of replicas for each operator."""

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Analyze every operator; see `gesscale.ports.Policy`."""
        screened = {
            name: actionable_reading(name, observation, knowledge, self.options.stabilization_window_s)
            for name in self.workflow.operators
        }
        readings = {name: each for name, each in screened.items() if isinstance(each, OperatorReading)}
        analyses = {name: each for name, each in screened.items() if isinstance(each, Analysis)}
        cooldown = self._cooldown(observation.at_s, knowledge)
        if readings and cooldown and not self.limits.samples_during_cooldown:
            analyses |= {name: self._unchanged(reading, knowledge, *cooldown) for name, reading in readings.items()}
        elif readings:
            proposals = self.proposals(readings, observation, knowledge)
            present = {name: reading.replicas for name, reading in readings.items()}
            counts = {name: proposal.replicas for name, proposal in proposals.items() if proposal.replicas is not None}
            allowed = targets(counts, present, self.workflow.operators, self.limits)
            analyses |= {
                name: self._analysis(reading, proposals[name], allowed.get(name), cooldown, knowledge)
                for name, reading in readings.items()
            }
        return {name: analyses[name] for name in self.workflow.operators}

    def plan_more(self, context: PlanningContext) -> Plan:
        """Add replicas up to the target, each on the nearest node or on a random one."""
        analysis, placement = context.analysis, context.placement
        target = min(analysis.desired_replicas or 0, context.operator.max_replicas)
        if target <= len(placement):
            return keep_placement(analysis, context.cluster, Reason.WITHIN_TARGET)
        while (ranked := self.additions_to(context, placement)).nodes and len(placement) < target:
            placement = tuple(sorted((*placement, ranked.nodes[0])))
        rejections = ranked.rejections + self.rejections_of(ranked.nodes)
        if placement == context.placement:
            detail = f"{analysis.detail}; {NO_OTHER_NODE}"
            stuck = keep_placement(analysis, context.cluster, Reason.NO_CANDIDATE_NODE, detail)
            return replace(stuck, rejections=rejections)
        missing = target - len(placement)
        remark = f"; no node can take {missing} more" if missing else ""
        return self.changed_plan(context, placement, rejections, remark)

    def plan_fewer(self, context: PlanningContext) -> Plan:
        """Remove replicas down to the target, the farthest first or in random order."""
        analysis, present = context.analysis, context.placement
        target = max(len(present) if analysis.desired_replicas is None else analysis.desired_replicas, 1)
        target = max(target, context.operator.min_replicas)
        if target >= len(present):
            return keep_placement(analysis, context.cluster, Reason.WITHIN_TARGET)
        remaining = self.shrunk_placements(context)[len(present) - target - 1]
        return self.changed_plan(context, remaining, self.rejections_of(remaining))

    def _analysis(
        self,
        reading: OperatorReading,
        proposal: SizeProposal,
        target: Target | None,
        cooldown: tuple[Reason, str] | None,
        knowledge: Knowledge,
    ) -> Analysis:
        unchanged = replace(self._unchanged(reading, knowledge, proposal.reason, proposal.detail), memo=proposal.memo)
        if target is None:
            return unchanged
        detail = _target_detail(proposal.detail, target)
        result = replace(unchanged, detail=detail, desired_replicas=target.replicas)
        if target.replicas == reading.replicas:
            at_limit = proposal.replicas is not None and proposal.replicas != reading.replicas and target.limits
            up = target.cancelled or (proposal.replicas or 0) > reading.replicas
            limit = Reason.AT_MAX_REPLICAS if up else Reason.AT_MIN_REPLICAS
            return replace(result, reason=limit if at_limit else proposal.reason)
        if cooldown is not None:
            return replace(result, reason=cooldown[0], detail=f"{detail}; {cooldown[1]}")
        more = target.replicas > reading.replicas
        return replace(
            result,
            verdict=Verdict.MORE if more else Verdict.FEWER,
            reason=Reason.OVERLOADED if more else Reason.UNDERUSED,
        )

    def _unchanged(self, reading: OperatorReading, knowledge: Knowledge, reason: Reason, detail: str) -> Analysis:
        driver_node = self.workflow.operators[reading.operator].driver_node
        return Analysis(
            operator=reading.operator,
            verdict=Verdict.SAME,
            reason=reason,
            detail=detail,
            reading=reading,
            nd_max_ms=nd_max_ms(knowledge.latencies.map, reading.placement, driver_node),
        )

    def _cooldown(self, now_s: float, knowledge: Knowledge) -> tuple[Reason, str] | None:
        changes = [change for name in self.workflow.operators if (change := knowledge.latest(name)) is not None]
        if not changes:
            return None
        since_s = now_s - max(self._cooldown_began_s(change, now_s) for change in changes)
        if since_s >= self.limits.cooldown_s:
            return None
        return Reason.COOLING_DOWN, f"cooldown: last change {since_s:.0f} s ago, waits {self.limits.cooldown_s:g} s"

    def _cooldown_began_s(self, change: Order, now_s: float) -> float:
        if self.limits.cooldown_from == "order":
            return change.at_s
        took_s = change.downtime_s if change.first_tasks_s is None else change.first_tasks_s
        return now_s if change.is_pending else change.at_s + (took_s or 0.0)


def _target_detail(detail: str, target: Target) -> str:
    limits = f" (limited: {'; '.join(target.limits)})" if target.limits else ""
    return f"{detail}; target {target.replicas} replicas{limits}"


def with_configured_placement(policy: Callable[..., Policy]) -> Callable[..., Policy]:
    """Return a factory of a policy that places replicas on the nearest or on random nodes, as in `node_choice`."""
    return lambda workflow, options, own: policy(
        workflow, options, latency_aware=options.node_choice == "nearest", sizing=own
    )


#: Shared settings of every policy that proposes a number of replicas.
PLACEMENT_SETTINGS = ("stabilization_window_s", "node_choice", "seed")


#: Reason why one operator blocks the change of all.
SIZED_TOGETHER = "all operators are sized together"


def blocking_proposal(
    workflow: Workflow, readings: Mapping[str, OperatorReading], observation: WorkflowObservation
) -> SizeProposal | None:
    """Return the proposal of no change if an operator has no usable reading; None if all have one."""
    missing = next((name for name in workflow.topological_order if name not in readings), None)
    if missing is None:
        return None
    if missing in observation.readings:
        detail, reason = f"a change of {missing} is in progress", Reason.RECONFIGURING
    else:
        detail, reason = f"no metrics of {missing}", Reason.METRICS_MISSING
    return SizeProposal(replicas=None, detail=f"{detail}; {SIZED_TOGETHER}", reason=reason)
