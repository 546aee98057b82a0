"""The policy `rules`, after SEEP (Rouaux, Imperial College London 2014): scales operators by user-defined rules.

The other modules of this package define and evaluate rules. This module connects them to the loop: it turns readings
into samples, and orders into the last actions that guards check.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, field_serializer

from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.model.order import Order
from gesscale.model.workflow import Workflow
from gesscale.options import PolicyOptions
from gesscale.policies.memos import Memo, load_memo
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import Knowledge
from testbed.baselines.rules.evaluation import (
    Phase,
    RuleCondition,
    RuleContext,
    RuleEvaluation,
    State,
    condition,
    conjunction,
    evaluate_rules,
    rank_rules,
)
from testbed.baselines.rules.model import Rule, ScalingAction, distinct
from testbed.baselines.rules.readings import MetricSamples, append_reports, is_reported, prune_samples, reports
from testbed.baselines.rules.settings import DEFAULT_RULES, RulesSettings, check_operators, read_rules
from testbed.baselines.shared.sizing import PLACEMENT_SETTINGS, UNLIMITED, SizeProposal, SizingPolicy, SizingSettings

#: Maximum number of samples of all metrics in the memo of an operator: about 25 KiB.
_MAX_SAMPLES = 512

#: Number of rules that the detail shows if none acts.
_SHOWN_RULES = 3


class RulesProposal(BaseModel):
    """Proposal for an operator."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    replicas: int | None
    detail: str
    reason: Reason


class RulesMemo(Memo):
    """Memo of an operator."""

    #: Its replicas.
    replicas: int
    #: Time of the newest known order, seconds since the epoch; None if there was none.
    change_s: float | None = None
    #: Time of the last completed action of each kind.
    done_s: dict[ScalingAction, float]
    #: Samples of each metric in its rules, oldest first.
    samples: dict[str, MetricSamples]
    #: The rules whose conditions have fired.
    fired: frozenset[str] = frozenset()
    #: The proposal of this step.
    proposal: RulesProposal | None = None

    @field_serializer("fired")
    def _in_order(self, fired: frozenset[str]) -> list[str]:
        """Return a sorted list: the order of a set differs between processes."""
        return sorted(fired)


@dataclass(frozen=True, slots=True)
class RulesPolicy(SizingPolicy):
    """Applies user-defined rules."""

    name: ClassVar[str] = "rules"

    #: Rules with unique names, in order of priority.
    rules: tuple[Rule, ...] = ()
    #: Options of the evaluation.
    semantics: RulesSettings = field(default_factory=RulesSettings)

    @property
    def sizing(self) -> SizingSettings:
        """Limits of proposals: only those of the operators."""
        return UNLIMITED

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Evaluate the rules of every operator; see `testbed.baselines.shared.sizing.SizingPolicy`."""
        at_s = observation.at_s
        memos = {name: self._memo(reading, at_s, knowledge) for name, reading in readings.items()}
        conditions_of = {name: self._conditions(memos[name], reading) for name, reading in readings.items()}
        everywhere = self._of_all(conditions_of)
        proposals = {}
        for name, memo in memos.items():
            proposal = memo.proposal
            if proposal is None:
                evaluation = self._evaluate(name, memo, {**conditions_of[name], **everywhere})
                proposal = _proposal(evaluation, is_fresh=self._is_fresh(memo))
                memos[name] = memo.model_copy(update={"fired": evaluation.fired, "proposal": proposal})
            proposals[name] = SizeProposal(
                replicas=proposal.replicas,
                detail=proposal.detail,
                reason=proposal.reason,
                memo=memos[name].model_dump_json(),
            )
        return proposals

    # Memos

    def _memo(self, reading: OperatorReading, at_s: float, knowledge: Knowledge) -> RulesMemo:
        """Return the memo of an operator including this step's readings; unchanged if it has them already."""
        name, change = reading.operator, knowledge.latest(reading.operator)
        before = load_memo(RulesMemo, self.name, name, knowledge)
        if before is not None and before.at_s == at_s:
            return before
        if before is not None and before.at_s > at_s:  # the clock was set back
            before = None
        replicas = _replicas(reading, change)
        return RulesMemo(
            policy=self.name,
            at_s=at_s,
            replicas=replicas,
            change_s=None if change is None else change.at_s,
            done_s=_done_s(before, change),
            samples=self._samples({} if before is None else before.samples, reading, change),
            fired=frozenset() if before is None else before.fired,
        )

    def _samples(
        self, before: Mapping[str, MetricSamples], reading: OperatorReading, change: Order | None
    ) -> dict[str, MetricSamples]:
        max_s: dict[str, float] = {}
        for rule in rank_rules(self.rules, reading.operator):
            for trigger in rule.when:
                max_s[trigger.metric] = max(trigger.for_s, max_s.get(trigger.metric, 0.0))
        since_s, gap_s = -math.inf, self.semantics.max_gap_s
        if self.semantics.mode == "rearm" and change is not None:
            since_s = change.at_s + (change.downtime_s or 0.0)
        found = {}
        for metric, reach_s in max_s.items():
            samples = append_reports(before.get(metric, ()), reports(metric, reading, gap_s), gap_s)
            fresh = [sample for sample in samples if sample.at_s > since_s]
            found[metric] = prune_samples(fresh, reach_s, max(2, _MAX_SAMPLES // len(max_s)))
        return found

    def _is_fresh(self, memo: RulesMemo) -> bool:
        """Return True if the operator changed within the longest time window of its rules."""
        max_s = max((item.for_s for rule in self.rules for item in rule.when), default=0.0)
        return memo.at_s - max(memo.done_s.values(), default=-math.inf) < max_s

    # Evaluation

    def _conditions(self, memo: RulesMemo, reading: OperatorReading) -> Mapping[str, RuleCondition]:
        reported = {metric: items for metric, items in memo.samples.items() if is_reported(metric, reading)}
        return {
            rule.name: condition(rule, reported, memo.at_s, self.semantics)
            for rule in rank_rules(self.rules, reading.operator)
        }

    def _of_all(self, conditions_of: Mapping[str, Mapping[str, RuleCondition]]) -> Mapping[str, RuleCondition]:
        """Return the conditions of the rules that evaluate all operators together."""
        missing = [name for name in self.workflow.operators if name not in conditions_of]
        unknown = RuleCondition(state=State.INSUFFICIENT_DATA, text=f"no metrics of {', '.join(missing)}")
        return {
            rule.name: unknown
            if missing
            else conjunction([conditions[rule.name] for conditions in conditions_of.values()])
            for rule in self.rules
            if rule.together
        }

    def _evaluate(self, name: str, memo: RulesMemo, conditions: Mapping[str, RuleCondition]) -> RuleEvaluation:
        context = RuleContext(
            now_s=memo.at_s,
            operator=self.workflow.operators[name],
            replicas=memo.replicas,
            done_s=memo.done_s,
            fired=memo.fired,
        )
        return evaluate_rules(rank_rules(self.rules, name), conditions, context, self.semantics)


def rules_policy(workflow: Workflow, options: PolicyOptions, given: RulesSettings) -> RulesPolicy:
    """Create the policy with the rules of the settings or of their file.

    Raises
    ------
    InputError
        If the file cannot be used, or a rule names an unknown operator.
    """
    if given.file is not None:
        rules = read_rules(given.file).rules
    else:
        rules = given.rules or DEFAULT_RULES
    check_operators(rules, workflow.operators)
    return RulesPolicy(
        workflow, options, latency_aware=options.node_choice == "nearest", rules=distinct(rules), semantics=given
    )


def _replicas(reading: OperatorReading, change: Order | None) -> int:
    """Return the replicas of an operator: the reading of one that idles since its change is from before."""
    newest_s = reading.batches[-1].ended_at_s if reading.batches else math.inf
    return len(change.placement) if change is not None and change.at_s >= newest_s else reading.replicas


def _done_s(before: RulesMemo | None, change: Order | None) -> dict[ScalingAction, float]:
    """Return the time of the last completed action of each kind; a change without a memo counts as both."""
    if change is None:
        return {}
    completed_s = change.at_s + (change.downtime_s or 0.0)
    if before is None:
        return dict.fromkeys(ScalingAction, completed_s)
    if before.change_s == change.at_s or len(change.placement) == before.replicas:
        return before.done_s
    kind = ScalingAction.OUT if len(change.placement) > before.replicas else ScalingAction.IN
    return {**before.done_s, kind: completed_s}


def _proposal(evaluation: RuleEvaluation, *, is_fresh: bool) -> RulesProposal:
    findings = evaluation.findings
    if (acting := evaluation.acting) is not None:
        return RulesProposal(replicas=acting.replicas, detail=acting.text, reason=Reason.WITHIN_TARGET)
    if not findings:
        return RulesProposal(replicas=None, detail="no rule for this operator", reason=Reason.NEVER_CHANGES)
    pending = [item for item in findings if item.phase is Phase.PENDING]
    has_no_data = all(item.phase is Phase.INSUFFICIENT_DATA for item in findings)
    reason = Reason.WITHIN_TARGET
    if pending:
        reason = pending[0].reason
    elif has_no_data:
        reason = Reason.COOLING_DOWN if is_fresh else Reason.METRICS_MISSING
    shown = pending or findings
    more = f"; and {len(shown) - _SHOWN_RULES} more rules" if len(shown) > _SHOWN_RULES else ""
    text = "; ".join(item.text for item in shown[:_SHOWN_RULES])
    return RulesProposal(replicas=None, detail=text + more, reason=reason)


POLICY = PolicyInfo(
    name="rules",
    summary="user-defined rules: thresholds on metrics that hold for a time, with guards and bounds",
    source="Rouaux, Framework for Dynamic Scaling in Master-Slave Stream Processing Systems, Imperial College 2014",
    build=rules_policy,
    settings=RulesSettings,
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/rules.md",
)
