"""The policy `autrascale`, AuTraScale+ (Zhang et al., IEEE TPDS 2024): optimises throughput, latency, then backlog.

The workflow has one vector of replicas. Each trial runs in production; its measurements after a stabilisation time
determine the next one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import ClassVar

from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.policies.memos import load_memo
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import Knowledge
from testbed.baselines.autrascale.backlog import begin_draining, drain
from testbed.baselines.autrascale.situation import (
    MAX_CHECKS,
    MAX_RATES,
    AutrascaleContext,
    AutrascaleMemo,
    AutrascaleSettings,
    RateModel,
    format_configuration,
    is_other_rate,
    keep_replicas,
)
from testbed.baselines.autrascale.steps import continue_search, keep_up, keep_up_again, search_again
from testbed.baselines.shared.sizing import (
    PLACEMENT_SETTINGS,
    SizeProposal,
    SizingPolicy,
    blocking_proposal,
    with_configured_placement,
)

#: Number of consecutive steps with another input rate before the policy adapts to it.
_RATE_CHANGE_STEPS = 3

#: The steps that continue at any input rate.
_STEPS = {"throughput": keep_up, "backlog": drain}


@dataclass(frozen=True, slots=True)
class AutrascalePolicy(SizingPolicy):
    """Finds a vector of replicas for a workflow by trials; Gaussian processes learn from the trials of each rate."""

    name: ClassVar[str] = "autrascale"

    sizing: AutrascaleSettings = field(default_factory=AutrascaleSettings)

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Propose a number of replicas for each operator; see `testbed.baselines.shared.sizing.SizingPolicy`.

        The memo is stored at the first operator in topological order. There is no proposal while an operator has no
        usable reading.
        """
        if (proposal := blocking_proposal(self.workflow, readings, observation)) is not None:
            return dict.fromkeys(readings, proposal)
        order = self.workflow.topological_order
        now = self._situation(readings, observation, knowledge)
        if now.unknown:
            proposal = SizeProposal(replicas=None, detail=now.unknown, reason=Reason.METRICS_MISSING)
            return dict.fromkeys(readings, proposal)
        memo = load_memo(AutrascaleMemo, self.name, order[0], knowledge)
        if memo is None or memo.operators != order or memo.at_s > now.at_s:
            memo = self._first_memo(now)
        text = None
        if memo.at_s != now.at_s:
            memo = _step(_with_measurements(memo, now), now)
            text = memo.bounded()
        return {
            name: SizeProposal(
                replicas=None if replicas == readings[name].replicas else replicas,
                detail=memo.detail,
                reason=memo.reason,
                memo=text if name == order[0] else None,
            )
            for name, replicas in zip(order, memo.proposed, strict=True)
        }

    def _situation(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> AutrascaleContext:
        settled_s = (
            change.downtime_s
            for name in self.workflow.operators
            if (change := knowledge.latest(name)) is not None and change.downtime_s is not None
        )
        return AutrascaleContext(
            at_s=observation.at_s,
            workflow=self.workflow,
            readings=readings,
            settings=self.sizing,
            seed=self.options.seed,
            downtime_s=max(settled_s, default=0.0),
        )

    def _first_memo(self, now: AutrascaleContext) -> AutrascaleMemo:
        rate = now.check.rate
        return AutrascaleMemo(
            policy=self.name,
            at_s=-1.0,
            operators=now.operators,
            rate=rate,
            models=(RateModel(rate=rate),),
            proposed=now.present,
        )


def _with_measurements(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    """Add the present measurements to the memo; another configuration starts a new run."""
    check = now.check
    if now.present != memo.replicas:
        memo = memo.with_changes(replicas=now.present, since_s=now.at_s, checks=())
    return memo.with_changes(
        at_s=now.at_s,
        checks=(*memo.checks, check)[-MAX_CHECKS:],
        recent_rates=(*memo.recent_rates, check.rate)[-_RATE_CHANGE_STEPS:],
    )


def _step(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    if memo.proposed != memo.replicas and now.at_s - memo.ordered_s < now.settings.to_stabilise_s:
        return memo  # the change is in progress: propose it again
    memo = _at_present_rate(memo)
    if memo.phase in _STEPS:
        return _STEPS[memo.phase](memo, now)
    if is_other_rate(memo.recent_rates[-1], memo.rate):
        detail = (
            f"input {memo.recent_rates[-1]:.0f} rows/s, was {memo.rate:.0f}; waiting for {_RATE_CHANGE_STEPS} steps"
        )
        return keep_replicas(memo, detail, Reason.WITHIN_TARGET)
    return (
        keep_up_again(memo, now)
        or (continue_search(memo, now) if memo.phase == "latency" else search_again(memo, now))
        or begin_draining(memo, now)
        or keep_replicas(memo, f"{format_configuration(memo.replicas)} meets its targets", Reason.WITHIN_TARGET)
    )


def _at_present_rate(memo: AutrascaleMemo) -> AutrascaleMemo:
    """Switch the memo to another input rate if that rate persists."""
    recent = memo.recent_rates
    changed = len(recent) == _RATE_CHANGE_STEPS and all(is_other_rate(rate, memo.rate) for rate in recent)
    if not changed or min(recent) < memo.rate < max(recent):
        return memo
    rate = median(recent)
    near = (model for model in memo.models if not is_other_rate(rate, model.rate))
    present = min(near, key=lambda model: abs(model.rate - rate), default=RateModel(rate=rate))
    former = (model for model in memo.models if model is not present and model.samples)
    return memo.with_changes(
        phase="throughput",
        rate=rate,
        checks=memo.checks[-_RATE_CHANGE_STEPS:],
        may_shrink=True,
        tried=(),
        least=(),
        capped_at=0.0,
        latency_trials=0,
        gave_up=False,
        return_to=(),
        rests_until_s=0.0,
        models=(present, *former)[:MAX_RATES],
    )


POLICY = PolicyInfo(
    name="autrascale",
    summary="optimises throughput, latency and backlog one after the other, by trials and Gaussian processes",
    source="Zhang et al., Bayesian-Driven Automated Scaling (AuTraScale+), IEEE TPDS 2024",
    build=with_configured_placement(AutrascalePolicy),
    settings=AutrascaleSettings,
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/autrascale.md",
    needs=("arena", "sklearn"),
)
