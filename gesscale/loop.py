"""The loop: Monitor, Analyze, Plan, Execute over shared Knowledge, once per period, or sooner where a policy asks.

The live cluster, the simulator and the replay run this same file over other adapters.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from gesscale.errors import ClusterError
from gesscale.model.decision import FIXED_SLOTS, Analysis, Decision, MapStatus, Outcome, OutcomeStatus, Plan
from gesscale.model.observation import WorkflowObservation
from gesscale.plan.change_budget import REPAIRS, ChangeBudget, changing_now, held_back, most_urgent_first
from gesscale.plan.directives import Directive, apply_directives
from gesscale.plan.filters import keep_on_doubt, place_first, restore_lost
from gesscale.plan.placement import ineligible_nodes
from gesscale.plan.settling import settled
from gesscale.ports import (
    Clock,
    Cluster,
    ClusterState,
    Knowledge,
    KnowledgeStore,
    Latencies,
    LatencySource,
    MetricSource,
    Policy,
)

#: What a step spends its time on.
PHASES = ("monitor", "analyze", "plan", "execute", "knowledge")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlLoop:
    """One step observes, analyzes, plans, executes and remembers, for every operator of a workflow."""

    #: The adapters of Monitor, Execute and Knowledge (metrics, latencies, cluster, knowledge).
    metrics: MetricSource
    latencies: LatencySource
    #: The pure Analyze and Plan.
    policy: Policy
    cluster: Cluster
    knowledge: KnowledgeStore
    #: False for advice only: nothing is started or removed.
    acts: bool
    #: A change that has not settled after this long no longer blocks the next one.
    rescale_timeout_s: float
    #: Nodes that are to take no new replica.
    excluded_nodes: frozenset[str] = frozenset()
    #: What people say of single operators over the policy's head.
    directives: Mapping[str, Directive] = field(default_factory=dict)
    #: How many operators may be in change at once; loops may share it.
    budget: ChangeBudget = field(default_factory=ChangeBudget)
    #: By which the budget knows this loop.
    scope: str = ""
    #: Gives the context in which a phase runs, one of `PHASES`, so that its time can be measured.
    timed: Callable[[str], AbstractContextManager[None]] = lambda _phase: nullcontext()
    #: Told the cluster and the latency map from which a step decides.
    seen: Callable[[ClusterState, Latencies], None] = lambda _cluster, _latencies: None

    def step(self, now_s: float) -> tuple[Decision, ...]:
        """Run one step; every operator gets a decision, whatever happens."""
        with self.timed("monitor"):
            latencies = self.latencies.current(now_s)
            state = self._cluster_state()
            observation = self.metrics.observe(now_s).with_weights(state.weights)
            self.seen(state, latencies)
        with self.timed("knowledge"):
            known = self._settle(observation, now_s).with_latencies(latencies)
        with self.timed("analyze"):
            analyses = self.policy.analyze(observation, known)
        with self.timed("plan"):
            plans = restore_lost(self.policy.plan(analyses, state, known), analyses, state, known)
            plans = keep_on_doubt(plans, analyses)
            plans = place_first(plans, self.directives, state, known)
            plans = apply_directives(plans, self.directives, state, known, now_s)
            plans = self._within_budget(plans, analyses, known, now_s)
        return tuple(
            self._execute(analyses[name], plan, latencies.map_status, state, now_s) for name, plan in plans.items()
        )

    def run(
        self,
        clock: Clock,
        period_s: float,
        report: Callable[[tuple[Decision, ...]], None],
        *,
        at_once: bool = False,
        least_period_s: float | None = None,
    ) -> None:
        """Step once per period, or sooner where the policy asks for it, until the clock says stop.

        Parameters
        ----------
        least_period_s
            The policy may not ask for less; None: it may not ask.
        """
        due_s = clock.now_s() + (0.0 if at_once else period_s)
        while clock.wait_until(due_s):
            decisions = self.step(clock.now_s())
            report(decisions)
            now_s, wait_s = clock.now_s(), next_step_in_s(decisions, period_s, least_period_s)
            due_s = min(max(due_s + wait_s, now_s), now_s + wait_s)  # the clock may have been set back

    def _settle(self, observation: WorkflowObservation, now_s: float) -> Knowledge:
        known = self.knowledge.recall(now_s)
        done = {
            name: finished
            for name, reading in observation.readings.items()
            if (pending := known.pending(name)) is not None
            and (finished := settled(pending, reading, self.rescale_timeout_s)) is not None
        }
        for name, order in done.items():
            self.knowledge.settle(name, order)
        return self.knowledge.recall(now_s) if done else known

    def _within_budget(
        self, plans: Mapping[str, Plan], analyses: Mapping[str, Analysis], known: Knowledge, now_s: float
    ) -> Mapping[str, Plan]:
        if self.budget.most is None:
            return plans
        changing = changing_now(plans, known, now_s, self.rescale_timeout_s)
        wanting = [plan for name, plan in plans.items() if plan.change is not None and self._may_change(analyses[name])]
        first = [plan.operator for plan in wanting if plan.reason in REPAIRS]
        ranked = most_urgent_first((plan for plan in wanting if plan.reason not in REPAIRS), analyses)
        admitted = self.budget.admit(self.scope, {*changing, *first}, [plan.operator for plan in ranked])
        waiting = [plan for plan in ranked if plan.operator not in admitted]
        others = {*changing, *first, *admitted}
        return {**plans, **{plan.operator: held_back(plan, others, self.budget.most or 0) for plan in waiting}}

    def _cluster_state(self) -> ClusterState:
        try:
            return self.cluster.state().excluding(self.excluded_nodes)
        except ClusterError as error:
            return ClusterState(problem=str(error))

    def _may_act(self, operator: str) -> bool:
        directive = self.directives.get(operator)
        return self.acts and (directive is None or directive.acts)

    def _may_change(self, analysis: Analysis) -> bool:
        return self._may_act(analysis.operator) and not _has_fixed_slots(analysis)

    def _execute(
        self, analysis: Analysis, plan: Plan, map_status: MapStatus, state: ClusterState, now_s: float
    ) -> Decision:
        if plan.change is None:
            outcome = Outcome(status=OutcomeStatus.NOTHING_TO_DO)
        elif _has_fixed_slots(analysis):
            outcome = Outcome(status=OutcomeStatus.NOT_ALLOWED, detail=f"advice only: {FIXED_SLOTS}")
        elif not self._may_act(plan.operator):
            outcome = Outcome(status=OutcomeStatus.NOT_ALLOWED, detail="advice only: the mode is not act")
        else:
            try:
                with self.timed("execute"):
                    outcome = self.cluster.apply(plan.operator, plan.placement)
            except ClusterError as error:
                outcome = Outcome(status=OutcomeStatus.FAILED, detail=str(error))
        decision = Decision(
            at_s=now_s,
            operator=plan.operator,
            policy=self.policy.name,
            analysis=analysis,
            plan=plan,
            outcome=outcome,
            latency_map=map_status,
            ineligible=ineligible_nodes(state.seen_by(plan.operator)),
        )
        with self.timed("knowledge"):
            self.knowledge.remember(decision)
        return decision


def _has_fixed_slots(analysis: Analysis) -> bool:
    return analysis.reading is not None and analysis.reading.fixed_slots


def next_step_in_s(decisions: Iterable[Decision], period_s: float, least_period_s: float | None) -> float:
    """Return how long after the beginning of a step the next one is due.

    Parameters
    ----------
    least_period_s
        The shortest one that a policy may ask for; None: it may not ask.
    """
    if least_period_s is None:
        return period_s
    asked = (each.plan.again_in_s for each in decisions if each.plan.again_in_s is not None)
    return min(period_s, max(least_period_s, min(asked, default=period_s)))
