"""The algorithm of the Horizontal Pod Autoscaler: tolerance, stabilization windows, and limits on the rate of change.

Source: Kubernetes, pkg/controller/podautoscaler (replica_calculator.go and horizontal.go), API autoscaling/v2.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from pydantic import Field

from gesscale.fields import Duration, SettingsGroup
from gesscale.formatting import format_duration
from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.policies.memos import Memo, load_memo
from gesscale.ports import Knowledge
from gesscale.wire import MAX_REPLICAS
from testbed.baselines.shared.sizing import SizeProposal, SizingPolicy, ceiling, floor


class BehaviorSettings(SettingsGroup):
    """The defaults of Kubernetes, and `spec.behavior` of a HorizontalPodAutoscaler."""

    tolerance_share: float = Field(0.1, ge=0, le=1)
    """No change while metric / target differs from 1 by at most this, 0..1. Default: Kubernetes."""
    scale_up_stabilization_s: Duration | None = None
    """Scale-out uses the lowest proposal within this time. Default: none, as in Kubernetes."""
    scale_down_stabilization_s: Duration = 300.0
    """Scale-in uses the highest proposal within this time. Default: Kubernetes."""
    scale_up_pods: int = Field(4, ge=0, le=MAX_REPLICAS)
    """Replicas that a policy period may add, if `scale_up_percent` does not allow more. Default: Kubernetes."""
    scale_up_percent: float = Field(100.0, ge=0, le=100 * MAX_REPLICAS)
    """Per cent of the replicas that a policy period may add. Default: Kubernetes."""
    scale_down_percent: float = Field(100.0, ge=0, le=100)
    """Per cent of the replicas that a policy period may remove. Default: Kubernetes, which is no limit."""
    policy_period_s: Duration = 15.0
    """Period of the three limits above. Default: Kubernetes."""


class Recommendations(Memo):
    """The latest proposals."""

    #: Instants and replicas, oldest first, strictly decreasing: a proposal that was followed by an equal or higher
    #: one has no effect. So there are at most ``max_replicas``.
    proposals: tuple[tuple[float, int], ...] = Field(min_length=1)
    #: The same for scale-out, strictly increasing.
    lowest: tuple[tuple[float, int], ...] = ()

    @property
    def most(self) -> int:
        """The highest proposal."""
        return max(count for _, count in self.proposals)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRatio:
    """Metric of an operator relative to its target."""

    #: Metric divided by target; not finite if unknown.
    ratio: float
    #: Metric and target as text.
    detail: str

    @classmethod
    def of_share(cls, share: float, what: str, target: float) -> Self:
        """Return the ratio of a share to its target, both 0..1."""
        return cls(ratio=share / target, detail=f"{what} {100 * share:.0f} % (target {100 * target:.0f} %)")


@dataclass(frozen=True, slots=True)
class HpaPolicy(SizingPolicy):
    """Computes replicas from the ratios of metrics to targets."""

    @property
    @abstractmethod
    def behavior(self) -> BehaviorSettings:
        """Tolerance, windows and limits."""

    @abstractmethod
    def loads(self, readings: Mapping[str, OperatorReading]) -> Mapping[str, TargetRatio]:
        """Return the ratio of metric to target for each operator."""

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Bring the metric of each operator to its target; see `SizingPolicy`."""
        return {
            name: self._proposal(readings[name], load, observation.at_s, knowledge)
            for name, load in self.loads(readings).items()
        }

    def _proposal(self, reading: OperatorReading, load: TargetRatio, at_s: float, knowledge: Knowledge) -> SizeProposal:
        if not math.isfinite(load.ratio):
            return SizeProposal(replicas=None, detail=f"{load.detail} is not finite", reason=Reason.METRICS_MISSING)
        present, behavior = reading.replicas, self.behavior
        tolerated = abs(load.ratio - 1) <= behavior.tolerance_share
        proposed = present if tolerated else max(1, ceiling(present * load.ratio))
        memo = self._with_proposal(reading, proposed, at_s, knowledge)
        detail, text = f"{load.detail}: {present} -> {proposed} replicas", memo.model_dump_json()
        stable, which, window_s = proposed, "", 0.0
        if proposed > present and behavior.scale_up_stabilization_s is not None:
            lowest = min(count for _, count in memo.lowest)
            stable, which, window_s = min(proposed, max(present, lowest)), "lowest", behavior.scale_up_stabilization_s
        elif proposed < present:
            stable, which, window_s = min(present, memo.most), "highest", behavior.scale_down_stabilization_s
        if stable != proposed:
            detail += f", stabilized at {stable} by the {which} of the last {format_duration(window_s)}"
            if stable == present:
                return SizeProposal(replicas=None, detail=detail, reason=Reason.COOLING_DOWN, memo=text)
        allowed = _at_allowed_rate(stable, present, behavior, self._changed_replicas(reading, at_s, knowledge))
        if allowed != stable:
            detail += f", {allowed} at the rate that is allowed"
        reason = Reason.WITHIN_TARGET if allowed == proposed else Reason.COOLING_DOWN
        return SizeProposal(replicas=allowed, detail=detail, reason=reason, memo=text)

    def _with_proposal(
        self, reading: OperatorReading, proposed: int, at_s: float, knowledge: Knowledge
    ) -> Recommendations:
        """Return the recommendations with a new one; the present replicas count as the first recommendation."""
        count = min(proposed, self.workflow.operators[reading.operator].max_replicas)
        memo = load_memo(Recommendations, self.name, reading.operator, knowledge)
        if memo is not None and memo.at_s == at_s:
            return memo
        first = ((at_s, reading.replicas),)
        known = memo is not None and memo.at_s < at_s
        highest, lowest = (memo.proposals, memo.lowest) if memo is not None and known else (first, first)
        down_s, up_s = at_s - self.behavior.scale_down_stabilization_s, self.behavior.scale_up_stabilization_s
        return Recommendations(
            policy=self.name,
            at_s=at_s,
            proposals=(*(each for each in highest if down_s <= each[0] <= at_s and each[1] > proposed), (at_s, count)),
            lowest=()
            if up_s is None
            else (*(each for each in lowest if at_s - up_s <= each[0] and each[1] < count), (at_s, count)),
        )

    def _changed_replicas(self, reading: OperatorReading, at_s: float, knowledge: Knowledge) -> int:
        """Return the replicas added less those removed in the policy period."""
        since_s = at_s - self.behavior.policy_period_s
        return sum(order.added for order in knowledge.orders.get(reading.operator, ()) if order.at_s > since_s)


def _at_allowed_rate(wanted: int, present: int, behavior: BehaviorSettings, changed: int) -> int:
    """Return the replicas that the limits of the rate allow; the policy that allows more counts."""
    began = present - changed
    if wanted > present:
        by_share = ceiling(began * (1 + behavior.scale_up_percent / 100))
        return min(wanted, max(present, began + behavior.scale_up_pods, by_share))
    return max(wanted, min(present, floor(began * (1 - behavior.scale_down_percent / 100))))
