"""Policies that propose how many replicas an operator should have: what they share, and what each must add."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gesscale.analyze.screening import screen
from gesscale.model.decision import Analysis, Plan, Reason, Verdict
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.options.sizing import SizingSettings
from gesscale.plan.placement import nd_max_ms
from gesscale.plan.staying import stay
from gesscale.plan.targets import GrowthLimits, Target, targets
from gesscale.policies.choosing import ChoosingPolicy, PlanningContext
from gesscale.ports import Knowledge


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeProposal:
    """How many replicas a policy would give an operator.

    Attributes
    ----------
    replicas
        The number, before any limit; None where nothing is known, so that nothing changes.
    detail
        The reason for it, in a sentence.
    reason
        Why it stays where nothing is proposed or nothing changes.
    memo
        What the policy gets back for this operator next time, see `gesscale.model.decision.Analysis`.
    """

    replicas: int | None
    detail: str
    reason: Reason = Reason.WITHIN_TARGET
    memo: str | None = None


@dataclass(frozen=True, slots=True)
class SizingPolicy(ChoosingPolicy):
    """Screens the readings, holds proposals to their limits and pauses, and finds nodes for any number of replicas."""

    @property
    @abstractmethod
    def sizing(self) -> SizingSettings:
        """What proposals are held to."""

    @abstractmethod
    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Say how many replicas each operator should have.

        Parameters
        ----------
        readings
            Of the operators that may be judged; never empty, but not always of all.
        observation, knowledge
            Everything that is seen and known.

        Returns
        -------
        Mapping of str to SizeProposal
            One for each of `readings`.
        """

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
            asked = {
                name: proposal.replicas
                for name, proposal in proposals.items()
                if proposal.replicas is not None
            }
            allowed = targets(asked, present, self.workflow.operators, self._growth())
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
            held,
            detail=f"{proposal.detail}: {target.replicas} wanted{limits}",
            desired_replicas=target.replicas,
        )
        if target.replicas == reading.replicas:
            at_limit = (
                proposal.replicas is not None and proposal.replicas != reading.replicas and target.limits
            )
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

    def _growth(self) -> GrowthLimits:
        sizing = self.sizing
        return GrowthLimits(
            over_provision=sizing.over_provision,
            max_step_up=sizing.max_step_up,
            max_step_down=sizing.max_step_down,
            total=sizing.total_replicas,
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
        changes = [
            change for name in self.workflow.operators if (change := knowledge.latest(name)) is not None
        ]
        if not changes:
            return None
        since_s = now_s - max(change.at_s for change in changes)
        if since_s >= self.sizing.cooldown_s:
            return None
        return Reason.COOLING_DOWN, f"nothing changes within {self.sizing.cooldown_s:g} s of the last change"


def _limit(proposed: int, present: int) -> Reason:
    return Reason.AT_MAX_REPLICAS if proposed > present else Reason.AT_MIN_REPLICAS
