"""The control loop: Monitor, Analyze, Plan and Execute over shared Knowledge, once per period.

Each step handles three placements of an operator. The *observed* one is where its replicas run. The *planned* one is
what the policy wants, after safeguards, directives and the change budget. The *ordered* one is what the cluster was
asked for; an order is pending until it has settled.

The live cluster, the simulator and the replay run this file over different adapters.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from gesscale.errors import ClusterError
from gesscale.model.decision import FIXED_SLOTS, Analysis, Decision, MapStatus, Outcome, OutcomeStatus, Plan
from gesscale.model.observation import RowAge, WorkflowObservation
from gesscale.plan.change_budget import REPAIRS, ChangeBudget, changing_now, defer_change, most_urgent_first
from gesscale.plan.directives import Directive, apply_directives
from gesscale.plan.filters import block_removal_on_stale_metrics, place_first
from gesscale.plan.held_changes import close_to_refused, hold_without_query, name_refusals
from gesscale.plan.lost_replicas import restore_lost
from gesscale.plan.node_ranking import ineligible_nodes
from gesscale.plan.settling import settle_order
from gesscale.plan.silent_nodes import follow_batches
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

#: The phases of a step, for time measurement.
PHASES = ("monitor", "analyze", "plan", "execute", "knowledge")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlLoop:
    """Observes, analyzes, plans, executes and records, for every operator of a workflow."""

    #: Adapters of Monitor, Execute and Knowledge: metrics, latencies, cluster and knowledge.
    metrics: MetricSource
    latencies: LatencySource
    #: Analyze and Plan, as pure functions.
    policy: Policy
    cluster: Cluster
    knowledge: KnowledgeStore
    #: False for advice only: no replica is started or removed.
    acts: bool
    #: A change that has not settled after this long no longer blocks the next one.
    rescale_timeout_s: float
    #: Nodes that take no new replica.
    excluded_nodes: frozenset[str] = frozenset()
    #: Prices of nodes that differ from those that the cluster reports.
    node_prices: Mapping[str, float] = field(default_factory=dict)
    #: Manual pauses and overrides by operator.
    directives: Mapping[str, Directive] = field(default_factory=dict)
    #: Limit on operators that change at the same time; loops may share it.
    budget: ChangeBudget = field(default_factory=ChangeBudget)
    #: Key of this loop in the change budget.
    budget_key: str = ""
    #: Returns a context manager around a phase, one of `PHASES`, to measure its time.
    measure_phase: Callable[[str], AbstractContextManager[None]] = lambda _phase: nullcontext()
    #: Adds the age of the rows to the observation of each step; see `gesscale.monitor.row_age`.
    measure_rows: Callable[[WorkflowObservation], WorkflowObservation] = lambda seen: seen
    #: Receives the cluster state and the latency map of each step.
    on_inputs: Callable[[ClusterState, Latencies], None] = lambda _cluster, _latencies: None

    def step(self, now_s: float) -> tuple[Decision, ...]:
        """Run one step and return a decision for every operator, also after failures."""
        with self.measure_phase("monitor"):
            latencies = self.latencies.current(now_s)
            state = self._cluster_state()
            observation = replace(
                self.measure_rows(self.metrics.observe(now_s)), node_weights=state.weights, usable_by=state.usable_by
            )
            state = close_to_refused(follow_batches(state, observation), observation)
            self.on_inputs(state, latencies)
        with self.measure_phase("knowledge"):
            known = replace(self._settle(observation, now_s), latencies=latencies)
        with self.measure_phase("analyze"):
            analyses = self.policy.analyze(observation, known)
        with self.measure_phase("plan"):
            plans = block_removal_on_stale_metrics(self.policy.plan(analyses, state, known), analyses)
            plans = restore_lost(plans, analyses, self.directives, state, known)
            plans = place_first(plans, self.directives, state, known)
            plans = name_refusals(hold_without_query(plans, observation), observation)
            plans = apply_directives(plans, self.directives, state, known, now_s)
            plans = self._within_budget(plans, analyses, known, now_s)
        ages = observation.row_ages
        return tuple(
            self._execute(analyses[name], plan, latencies.map_status, state, now_s, ages.get(name))
            for name, plan in plans.items()
        )

    def run(
        self,
        clock: Clock,
        period_s: float,
        report: Callable[[tuple[Decision, ...]], None],
        *,
        immediately: bool = False,
        min_period_s: float | None = None,
    ) -> None:
        """Run a step once per period, or earlier if the policy requests it, until the clock stops the loop.

        Parameters
        ----------
        min_period_s
            Lower bound of what the policy may request; None ignores its requests.
        """
        due_s = clock.now_s() + (0.0 if immediately else period_s)
        while clock.wait_until(due_s):
            decisions = self.step(clock.now_s())
            report(decisions)
            now_s, wait_s = clock.now_s(), next_step_in_s(decisions, period_s, min_period_s)
            due_s = min(max(due_s + wait_s, now_s), now_s + wait_s)  # the clock may have been set back

    def _settle(self, observation: WorkflowObservation, now_s: float) -> Knowledge:
        known = self.knowledge.recall(now_s)
        done = {
            name: finished
            for name, reading in observation.readings.items()
            if (pending := known.pending(name)) is not None
            and (finished := settle_order(pending, reading, self.rescale_timeout_s)) is not None
        }
        for name, order in done.items():
            self.knowledge.settle(name, order)
        return self.knowledge.recall(now_s) if done else known

    def _within_budget(
        self, plans: Mapping[str, Plan], analyses: Mapping[str, Analysis], known: Knowledge, now_s: float
    ) -> Mapping[str, Plan]:
        if self.budget.limit is None:
            return plans
        changing = changing_now(plans, known, now_s, self.rescale_timeout_s)
        changes = [plan for name, plan in plans.items() if plan.change is not None and self._may_change(analyses[name])]
        repairs = [plan.operator for plan in changes if plan.reason in REPAIRS]
        ranked = most_urgent_first((plan for plan in changes if plan.reason not in REPAIRS), analyses)
        admitted = self.budget.admit(self.budget_key, {*changing, *repairs}, [plan.operator for plan in ranked])
        waiting = [plan for plan in ranked if plan.operator not in admitted]
        busy = {*changing, *repairs, *admitted}
        return {**plans, **{plan.operator: defer_change(plan, busy, self.budget.limit or 0) for plan in waiting}}

    def _cluster_state(self) -> ClusterState:
        try:
            return self.cluster.state().priced(self.node_prices).excluding(self.excluded_nodes)
        except ClusterError as error:
            return ClusterState(problem=str(error))

    def _may_act(self, operator: str) -> bool:
        directive = self.directives.get(operator)
        return self.acts and (directive is None or directive.acts)

    def _may_change(self, analysis: Analysis) -> bool:
        return self._may_act(analysis.operator) and not _has_fixed_slots(analysis)

    def _execute(
        self,
        analysis: Analysis,
        plan: Plan,
        map_status: MapStatus,
        state: ClusterState,
        now_s: float,
        row_age: RowAge | None,
    ) -> Decision:
        if plan.change is None:
            outcome = Outcome(status=OutcomeStatus.NOTHING_TO_DO)
        elif _has_fixed_slots(analysis):
            outcome = Outcome(status=OutcomeStatus.NOT_ALLOWED, detail=f"advice only: {FIXED_SLOTS}")
        elif not self._may_act(plan.operator):
            outcome = Outcome(status=OutcomeStatus.NOT_ALLOWED, detail="advice only: the mode is not act")
        else:
            try:
                with self.measure_phase("execute"):
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
            ineligible=ineligible_nodes(state.for_operator(plan.operator)),
            row_age=row_age,
        )
        with self.measure_phase("knowledge"):
            self.knowledge.remember(decision)
        return decision


def _has_fixed_slots(analysis: Analysis) -> bool:
    return analysis.reading is not None and analysis.reading.fixed_slots


def next_step_in_s(decisions: Iterable[Decision], period_s: float, min_period_s: float | None) -> float:
    """Return the time from the start of a step to the start of the next one.

    Parameters
    ----------
    min_period_s
        Lower bound of what a policy may request; None ignores its requests.
    """
    if min_period_s is None:
        return period_s
    requested = (each.plan.next_step_after_s for each in decisions if each.plan.next_step_after_s is not None)
    return min(period_s, max(min_period_s, min(requested, default=period_s)))
