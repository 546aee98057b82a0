"""Rules after SEEP (Rouaux, Imperial College London 2014): conditions that hold for a time scale an operator.

The rules and their meaning are in the other files of this folder. Here they meet the loop: readings become samples, and
what the loop carried out becomes the last actions that guards look at.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, field_serializer

from gesscale.fields import MIN_DURATION_S
from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.model.order import Order
from gesscale.model.workflow import Workflow
from gesscale.options import PolicyOptions
from gesscale.policies.memos import Memo, load_memo
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import Knowledge
from gesscale.wire import MAX_REPLICAS
from testbed.baselines.rules.evaluation import (
    Phase,
    RuleCondition,
    RuleContext,
    Ruling,
    State,
    condition,
    joined,
    judge,
    ranked,
)
from testbed.baselines.rules.model import Metric, Rule, ScalingAction, distinct
from testbed.baselines.rules.readings import MetricSamples, appended, is_reported, label, pruned, reports
from testbed.baselines.rules.settings import DEFAULT_RULES, RulesSettings, check_operators, read_rules
from testbed.baselines.shared.sizing import ON_NODES, SizeProposal, SizingPolicy, SizingSettings

#: Samples of an operator in its memo, of all metrics together: some 25 KiB.
_SAMPLES_AT_MOST = 512

#: The detail names so many rules where none acts.
_WORDS_OF = 3

#: Guards and bounds of the rules take the place of the limits of other sizing policies.
_FREE = SizingSettings.model_validate({"cooldown": MIN_DURATION_S, "max_step_up": MAX_REPLICAS})


class RulesAnswer(BaseModel):
    """What was proposed."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    replicas: int | None
    detail: str
    reason: Reason


class RulesMemo(Memo):
    """What is remembered of an operator."""

    #: How many it has.
    replicas: int
    #: When the newest change that is known was ordered, seconds since the epoch; None where there was none.
    change_s: float | None = None
    #: When an action of each kind was last completed.
    done_s: dict[ScalingAction, float]
    #: Of each metric that its rules name, oldest first.
    samples: dict[Metric, MetricSamples]
    #: The rules whose conditions hold.
    held: frozenset[str] = frozenset()
    #: What follows.
    answer: RulesAnswer | None = None

    @field_serializer("held")
    def _held_in_order(self, held: frozenset[str]) -> list[str]:
        """Say the same in every process: a set has another order in each."""
        return sorted(held)


@dataclass(frozen=True, slots=True)
class RulesPolicy(SizingPolicy):
    """Goes by rules."""

    name: ClassVar[str] = "rules"

    #: Each with a name of its own, in the order of their rank.
    rules: tuple[Rule, ...] = ()
    #: How they are read.
    semantics: RulesSettings = field(default_factory=RulesSettings)

    @property
    def sizing(self) -> SizingSettings:
        """What proposals are held to: the limits of the operators alone."""
        return _FREE

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Evaluate the rules of every operator; see `testbed.baselines.shared.sizing.SizingPolicy`."""
        at_s = observation.at_s
        memos = {name: self._memo(reading, at_s, knowledge) for name, reading in readings.items()}
        seen = {name: self._conditions(memos[name], reading) for name, reading in readings.items()}
        everywhere = self._of_all(seen)
        proposals = {}
        for name, memo in memos.items():
            answer = memo.answer
            if answer is None:
                ruling = self._ruling(name, memo, {**seen[name], **everywhere})
                answer = _answer(ruling, is_fresh=self._is_fresh(memo))
                memos[name] = memo.model_copy(update={"held": ruling.held, "answer": answer})
            proposals[name] = SizeProposal(
                replicas=answer.replicas, detail=answer.detail, reason=answer.reason, memo=memos[name].model_dump_json()
            )
        return proposals

    # What is known of an operator

    def _memo(self, reading: OperatorReading, at_s: float, knowledge: Knowledge) -> RulesMemo:
        """Return the memo of an operator with this step's readings; the same if it holds them already."""
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
            done_s=_done_s(before, change, reading),
            samples=self._samples({} if before is None else before.samples, reading, change),
            held=frozenset() if before is None else before.held,
        )

    def _samples(
        self, before: Mapping[Metric, MetricSamples], reading: OperatorReading, change: Order | None
    ) -> dict[Metric, MetricSamples]:
        longest_s: dict[Metric, float] = {}
        for rule in ranked(self.rules, reading.operator):
            for trigger in rule.when:
                longest_s[trigger.metric] = max(trigger.for_s, longest_s.get(trigger.metric, 0.0))
        since_s, gap_s = -math.inf, self.semantics.max_gap_s
        if self.semantics.mode == "rearm" and change is not None:
            since_s = _completed_s(change, reading)
        found = {}
        for metric, reach_s in longest_s.items():
            samples = appended(before.get(metric, ()), reports(metric, reading, gap_s), gap_s)
            fresh = [sample for sample in samples if sample.at_s > since_s]
            found[metric] = pruned(fresh, reach_s, max(2, _SAMPLES_AT_MOST // len(longest_s)))
        return found

    def _is_fresh(self, memo: RulesMemo) -> bool:
        """Say whether an operator was changed a shorter time ago than its rules look back."""
        longest_s = max((item.for_s for rule in self.rules for item in rule.when), default=0.0)
        return memo.at_s - max(memo.done_s.values(), default=-math.inf) < longest_s

    # What follows

    def _conditions(self, memo: RulesMemo, reading: OperatorReading) -> Mapping[str, RuleCondition]:
        reported = {metric: items for metric, items in memo.samples.items() if is_reported(metric, reading)}
        labels = {metric: label(metric, reading) for metric in reported}
        return {
            rule.name: condition(rule, reported, memo.at_s, self.semantics, labels)
            for rule in ranked(self.rules, reading.operator)
        }

    def _of_all(self, seen: Mapping[str, Mapping[str, RuleCondition]]) -> Mapping[str, RuleCondition]:
        """Return the conditions of the rules for which the readings of all operators count together."""
        missing = [name for name in self.workflow.operators if name not in seen]
        unknown = RuleCondition(state=State.INSUFFICIENT_DATA, words=f"nothing is known of {', '.join(missing)}")
        return {
            rule.name: unknown if missing else joined([conditions[rule.name] for conditions in seen.values()])
            for rule in self.rules
            if rule.together
        }

    def _ruling(self, name: str, memo: RulesMemo, conditions: Mapping[str, RuleCondition]) -> Ruling:
        standing = RuleContext(
            now_s=memo.at_s,
            operator=self.workflow.operators[name],
            replicas=memo.replicas,
            done_s=memo.done_s,
            held=memo.held,
        )
        return judge(ranked(self.rules, name), conditions, standing, self.semantics)


def rules_policy(workflow: Workflow, options: PolicyOptions, given: RulesSettings) -> RulesPolicy:
    """Build the policy of the rules that the settings hold, or name.

    Raises
    ------
    InputError
        Where the file cannot be used, or a rule names an operator that the workflow does not have.
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
    """Return how many replicas an operator has: one that idles since it was changed reads as it was before."""
    newest_s = reading.batches[-1].ended_at_s if reading.batches else math.inf
    return len(change.placement) if change is not None and change.at_s >= newest_s else reading.replicas


def _completed_s(change: Order, reading: OperatorReading) -> float:
    """Return when a change was complete: the silence about it, beyond what is usual between two batches, is over."""
    return change.at_s + max(0.0, (change.downtime_s or 0.0) - (reading.trigger_s or 0.0))


def _done_s(before: RulesMemo | None, change: Order | None, reading: OperatorReading) -> dict[ScalingAction, float]:
    """Return when an action of each kind was last completed; a change without a memory counts as both."""
    if change is None:
        return {}
    completed_s = _completed_s(change, reading)
    if before is None:
        return dict.fromkeys(ScalingAction, completed_s)
    if before.change_s == change.at_s or len(change.placement) == before.replicas:
        return before.done_s
    kind = ScalingAction.OUT if len(change.placement) > before.replicas else ScalingAction.IN
    return {**before.done_s, kind: completed_s}


def _answer(ruling: Ruling, *, is_fresh: bool) -> RulesAnswer:
    findings = ruling.findings
    if (acting := ruling.acting) is not None:
        return RulesAnswer(replicas=acting.replicas, detail=acting.words, reason=Reason.WITHIN_TARGET)
    if not findings:
        return RulesAnswer(replicas=None, detail="no rule is for this operator", reason=Reason.NEVER_CHANGES)
    pending = [item for item in findings if item.phase is Phase.PENDING]
    blind = all(item.phase is Phase.INSUFFICIENT_DATA for item in findings)
    reason = Reason.WITHIN_TARGET
    if pending:
        reason = pending[0].reason
    elif blind:
        reason = Reason.COOLING_DOWN if is_fresh else Reason.METRICS_MISSING
    shown = pending or findings
    more = f"; and {len(shown) - _WORDS_OF} rules more" if len(shown) > _WORDS_OF else ""
    said = "; ".join(item.words for item in shown[:_WORDS_OF])
    return RulesAnswer(replicas=None, detail=said + more, reason=reason)


POLICY = PolicyInfo(
    name="rules",
    summary="rules of one's own: metrics beyond thresholds for a time scale operators, with guards and bounds",
    source="Rouaux, Framework for Dynamic Scaling in Master-Slave Stream Processing Systems, Imperial College 2014",
    build=rules_policy,
    settings=RulesSettings,
    accepts=ON_NODES,
    guide="reference/policies/rules.md",
)
