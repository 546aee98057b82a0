"""Replicas by expected bill."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import median

import numpy as np

from gesscale.analyze.screening import screen
from gesscale.decision import Analysis, Plan, Reason, Verdict
from gesscale.monitor.evidence import warm
from gesscale.observation import OperatorReading, WorkflowObservation
from gesscale.options import PolicyOptions
from gesscale.plan.placement import nd_max_ms, usable
from gesscale.plan.staying import present_placement, stay, unknown_delays
from gesscale.policies.gesscale2.bills import Bill, Question, bills
from gesscale.policies.gesscale2.demand import counted, forecast, learned
from gesscale.policies.gesscale2.law import BatchTimeSample
from gesscale.policies.gesscale2.memo import Gesscale2Memo
from gesscale.policies.gesscale2.placements import Ladder, delays_s, ladder
from gesscale.policies.gesscale2.scenarios import scenarios
from gesscale.policies.gesscale2.settings import Gesscale2Settings
from gesscale.policies.memos import recalled
from gesscale.ports import ClusterState, Knowledge, Reconfiguration
from gesscale.workflow import Workflow

_STEPS = 24
_FIRST_GUESS_S = 8.0
_START_S = 8.0


@dataclass(frozen=True, slots=True)
class Gesscale2Policy:
    """Chooses the number of replicas and the nodes of the least expected bill."""

    workflow: Workflow
    options: PolicyOptions
    sizing: Gesscale2Settings = field(default_factory=Gesscale2Settings)

    @property
    def name(self) -> str:
        """The registered name."""
        return "gesscale2"

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Learn from what was seen; see `gesscale.ports.Policy`."""
        return {name: self._analysis(name, observation, knowledge) for name in self.workflow.operators}

    def _analysis(self, name: str, observation: WorkflowObservation, knowledge: Knowledge) -> Analysis:
        reading = observation.readings.get(name)
        screened = screen(name, observation, knowledge, self.options.stabilization_window_s)
        if reading is None:
            return screened if isinstance(screened, Analysis) else None  # type: ignore[return-value]
        memo = self._memo(reading, observation, knowledge)
        analysis = (
            screened
            if isinstance(screened, Analysis)
            else Analysis(
                operator=name, verdict=Verdict.MORE, reason=Reason.WITHIN_TARGET, reading=reading
            )
        )
        driver = self.workflow.operators[name].driver_node
        return replace(
            analysis,
            memo=memo.model_dump_json(),
            nd_max_ms=nd_max_ms(knowledge.latencies.map, reading.placement, driver),
        )

    def _memo(
        self, reading: OperatorReading, observation: WorkflowObservation, knowledge: Knowledge
    ) -> Gesscale2Memo:
        at_s = observation.at_s
        memo = recalled(Gesscale2Memo, self.name, reading.operator, knowledge)
        if memo is None or memo.at_s > at_s:
            memo = Gesscale2Memo(policy=self.name, at_s=at_s, period_s=60.0)
        elif memo.at_s == at_s:
            return memo
        else:
            since_s = at_s - memo.at_s
            if since_s < 3 * memo.period_s or len(memo.load.rates) < 3:
                memo = memo.model_copy(update={"period_s": since_s})
        batches = reading.batches
        are_warm = warm(batches)
        operator = self.workflow.operators[reading.operator]
        samples = []
        for batch, is_warm in zip(batches, are_warm, strict=True):
            if not is_warm or batch.ended_at_s <= memo.learned_until_s:
                continue
            to_driver, pairs = delays_s(knowledge.latencies.map, batch.nodes, operator.driver_node)
            if np.isnan(to_driver).any() or np.isnan(pairs).any():
                continue
            weight = sum(observation.node_weights.get(node, 1.0) for node in batch.nodes)
            samples.append(
                BatchTimeSample(
                    rows=batch.rows,
                    seconds=batch.seconds,
                    weight=weight,
                    driver_rtt_s=float(to_driver.max()),
                    pair_rtt_s=float(pairs.max()),
                )
            )
        return memo.model_copy(
            update={
                "at_s": at_s,
                "learned_until_s": batches[-1].ended_at_s if batches else memo.learned_until_s,
                "law": memo.law.learned(samples),
                "load": learned(memo.load, counted(batches), memo.period_s),
            }
        )

    def plan(
        self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge
    ) -> Mapping[str, Plan]:
        """Choose for every operator its nodes; see `gesscale.ports.Policy`."""
        return {
            name: self._plan(analysis, cluster.seen_by(name), knowledge) for name, analysis in analyses.items()
        }

    def _plan(self, analysis: Analysis, cluster: ClusterState, knowledge: Knowledge) -> Plan:
        reading, operator = analysis.reading, self.workflow.operators[analysis.operator]
        if reading is None or analysis.verdict is not Verdict.MORE or analysis.memo is None:
            return stay(analysis, cluster)
        if cluster.problem:
            return stay(analysis, cluster, Reason.CLUSTER_UNAVAILABLE, cluster.problem)
        present = present_placement(analysis, cluster)
        if set(present) != set(reading.placement) and reading.throughput_rows_per_s:
            return stay(analysis, cluster, Reason.RECONFIGURING, "the newest batch ran on other nodes")
        memo = Gesscale2Memo.model_validate_json(analysis.memo)
        law = memo.law.law()
        if law is None or not memo.load.rates:
            return stay(analysis, cluster, Reason.MODEL_UNCALIBRATED, "no batch has told anything yet")
        if (unknown := unknown_delays(knowledge.latencies, present, operator.driver_node)) is not None:
            return stay(analysis, cluster, *unknown)
        free = usable(cluster, present)
        trigger_s = reading.trigger_s or 1.0
        steps = ladder(
            law, operator, present, free.nodes, cluster.weights, knowledge.latencies.map, trigger_s
        )
        found = self._bills(memo, reading, operator.batch_rows(1) is not None, steps, len(present), knowledge)
        now = next(bill for bill in found if bill.replicas == len(present))
        best = min(found, key=lambda bill: (bill.total, abs(bill.replicas - len(present))))
        words = "; ".join(_in_words(bill, self.sizing.late_minute_price) for bill in found)
        if best.total >= now.total - 1e-9 or best.replicas == len(present):
            return stay(analysis, cluster, Reason.WITHIN_TARGET, words)
        more = best.replicas > len(present)
        if not more and knowledge.latencies.standing.stale:
            return stay(analysis, cluster, Reason.LATENCY_MAP_STALE, knowledge.latencies.standing.stale)
        placement = steps.placements[best.replicas - 1]
        return Plan(
            operator=analysis.operator,
            reason=Reason.OVERLOADED if more else Reason.UNDERUSED,
            detail=words,
            before=present,
            placement=placement,
            nd_max_ms=nd_max_ms(knowledge.latencies.map, placement, operator.driver_node),
            rejections=free.rejections,
        )

    def _bills(
        self,
        memo: Gesscale2Memo,
        reading: OperatorReading,
        capped: bool,
        steps: Ladder,
        present: int,
        knowledge: Knowledge,
    ) -> tuple[Bill, ...]:
        operator = self.workflow.operators[reading.operator]
        slo_s, trigger_s = self.sizing.slo_s, reading.trigger_s or 1.0
        period_s = memo.period_s
        coarse_s = max(period_s, slo_s)
        step_s = np.array([period_s] + [coarse_s] * _STEPS)
        edges = np.concatenate([[0.0], np.cumsum(step_s)])
        hops = (edges[1:] + edges[:-1]) / 2 / period_s + 0.5
        past = np.array(memo.load.rates)
        ahead = forecast(memo.load)
        replica = float(steps.capacity[0])
        played = scenarios(past, ahead, len(step_s), replica, hops)
        offered = np.concatenate(
            [np.zeros((len(played.weights), 1)), np.cumsum(played.rates * step_s, axis=1)], axis=1
        )
        allowed_s = slo_s - (2.2 if capped else 0.8) * trigger_s
        allowed_s = max(allowed_s, 0.3 * slo_s)
        due = _due(offered, edges, past, period_s, allowed_s)
        least = operator.min_replicas
        most = min(operator.max_replicas, len(steps.capacity))
        stop_s = self._stop_s(knowledge.reconfigurations.get(reading.operator, ()), trigger_s)
        resting_s = 1.2 * trigger_s
        return bills(
            Question(
                capacity=np.maximum.accumulate(steps.capacity),
                replicas=present,
                candidates=np.arange(min(least, present), max(most, present) + 1),
                least=least,
                most=most,
                step_s=step_s,
                offered=offered,
                due=due,
                weights=played.weights,
                backlog_rows=reading.backlog_rows or 0.0,
                resting_s=resting_s,
                change_stop_s=stop_s if stop_s > 1.5 * trigger_s else 0.0,
                change_slow_s=_START_S,
                late_minute_price=self.sizing.late_minute_price,
                change_price=self.sizing.change_price,
            ),
            slo_s,
        )

    def _stop_s(self, changes: tuple[Reconfiguration, ...], trigger_s: float) -> float:
        known = [each.downtime_s - trigger_s for each in changes[:9] if each.downtime_s is not None]
        return max(0.0, median(known)) if known else _FIRST_GUESS_S


def _due(
    offered: np.ndarray, edges: np.ndarray, past: np.ndarray, period_s: float, allowed_s: float
) -> np.ndarray:
    """Return what must have been served at each edge: what had been offered the allowed time before."""
    kept = past[-int(np.ceil(allowed_s / period_s)) - 1 :]
    before = -np.cumsum(kept[::-1] * period_s)[::-1]
    before_edges = -period_s * np.arange(len(kept), 0, -1)
    grid = np.concatenate([before_edges, edges])
    whole = np.concatenate([np.broadcast_to(before, (len(offered), len(before))), offered], axis=1)
    wanted = np.maximum(edges - allowed_s, grid[0])
    index = np.clip(np.searchsorted(grid, wanted, side="right") - 1, 0, len(grid) - 2)
    share = (wanted - grid[index]) / (grid[index + 1] - grid[index])
    return whole[:, index] * (1 - share) + whole[:, index + 1] * share


def _in_words(bill: Bill, price: float) -> str:
    return (
        f"{bill.replicas}: {bill.replica_minutes:.0f} replica-min + {bill.late_minutes:.1f} late min x {price:g} "
        f"= {bill.total:.0f}"
    )
