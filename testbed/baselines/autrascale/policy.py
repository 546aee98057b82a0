"""AuTraScale+ (Zhang et al., IEEE TPDS 2024): first throughput, then latency, then the backlog, by trial.

The whole workflow is one vector of replicas. Each vector that is tried really runs; what it shows after a
stabilisation time decides on the next one.
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
from testbed.baselines.autrascale.situation import (
    MOST_CHECKS,
    MOST_RATES,
    AutrascaleContext,
    AutrascaleMemo,
    AutrascaleSettings,
    RateModel,
    is_other,
    shown,
    staying,
)
from testbed.baselines.autrascale.steps import begin_draining, drain, keep_up, keep_up_again, search_again, search_on
from testbed.baselines.shared.sizing import (
    ON_NODES,
    SizeProposal,
    SizingPolicy,
    blocking_proposal,
    with_configured_placement,
)

#: The policy must see another rate in so many steps in a row.
_PERSISTING = 3

#: The steps that go on at any offered rate.
_STEPS = {"throughput": keep_up, "backlog": drain}


@dataclass(frozen=True, slots=True)
class AutrascalePolicy(SizingPolicy):
    """One vector of replicas for a workflow, found by trial; Gaussian processes learn from the trials of each rate."""

    name: ClassVar[str] = "autrascale"

    sizing: AutrascaleSettings = field(default_factory=AutrascaleSettings)

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Say how many replicas each operator should have; see `testbed.baselines.shared.sizing.SizingPolicy`.

        The memo is kept at the first operator in topological order. While an operator cannot be judged, there is no
        proposal.
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
            memo = self._begun(now)
        text = None
        if memo.at_s != now.at_s:
            memo = _step(_noted(memo, now), now)
            text = memo.bounded()
        return {
            name: SizeProposal(
                replicas=None if replicas == readings[name].replicas else replicas,
                detail=memo.detail,
                reason=memo.reason,
                memo=text if name == order[0] else None,
            )
            for name, replicas in zip(order, memo.wanted, strict=True)
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

    def _begun(self, now: AutrascaleContext) -> AutrascaleMemo:
        rate = now.check.rate
        return AutrascaleMemo(
            policy=self.name,
            at_s=-1.0,
            operators=now.operators,
            rate=rate,
            models=(RateModel(rate=rate),),
            wanted=now.present,
        )


def _noted(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    """Return the memo with what is seen now; another configuration begins a new run."""
    check = now.check
    if now.present != memo.replicas:
        memo = memo.but(replicas=now.present, since_s=now.at_s, checks=())
    return memo.but(
        at_s=now.at_s,
        checks=(*memo.checks, check)[-MOST_CHECKS:],
        recent_rates=(*memo.recent_rates, check.rate)[-_PERSISTING:],
    )


def _step(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    if memo.wanted != memo.replicas and now.at_s - memo.ordered_s < now.settings.to_stabilise_s:
        return memo  # not all of it has been carried out yet: it is proposed again
    memo = _at_this_rate(memo)
    if memo.phase in _STEPS:
        return _STEPS[memo.phase](memo, now)
    if is_other(memo.recent_rates[-1], memo.rate):
        detail = f"{memo.recent_rates[-1]:.0f} rows/s are offered; whether that stays so is not known yet"
        return staying(memo, detail, Reason.WITHIN_TARGET)
    return (
        keep_up_again(memo, now)
        or (search_on(memo, now) if memo.phase == "latency" else search_again(memo, now))
        or begin_draining(memo, now)
        or staying(memo, f"{shown(memo.replicas)} keeps its targets", Reason.WITHIN_TARGET)
    )


def _at_this_rate(memo: AutrascaleMemo) -> AutrascaleMemo:
    """Return the memo as it is, or changed to another rate where that rate lasts."""
    seen = memo.recent_rates
    others = len(seen) == _PERSISTING and all(is_other(rate, memo.rate) for rate in seen)
    if not others or min(seen) < memo.rate < max(seen):
        return memo
    rate = median(seen)
    near = (model for model in memo.models if not is_other(rate, model.rate))
    present = min(near, key=lambda model: abs(model.rate - rate), default=RateModel(rate=rate))
    former = (model for model in memo.models if model is not present and model.samples)
    return memo.but(
        phase="throughput",
        rate=rate,
        checks=memo.checks[-_PERSISTING:],
        may_shrink=True,
        tried=(),
        least=(),
        capped_at=0.0,
        latency_trials=0,
        gave_up=False,
        return_to=(),
        rests_until_s=0.0,
        models=(present, *former)[:MOST_RATES],
    )


POLICY = PolicyInfo(
    name="autrascale",
    summary="throughput, latency and backlog one after the other, by trial and Gaussian processes",
    source="Zhang et al., Bayesian-Driven Automated Scaling (AuTraScale+), IEEE TPDS 2024",
    build=with_configured_placement(AutrascalePolicy),
    settings=AutrascaleSettings,
    accepts=ON_NODES,
    guide="reference/policies/autrascale.md",
    needs=("arena", "sklearn"),
)
