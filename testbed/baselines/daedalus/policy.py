"""Daedalus (Pfister et al., ICPE 2024): capacities learned from CPU, ARIMA forecasts, and a target recovery time.

Every operator is a job of its own, and its target load is its own input. What is learned of it is in its memo.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.model.order import Order
from gesscale.policies.memos import Memo, load_memo
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import Knowledge
from testbed.baselines.daedalus.scale_out import (
    Capacities,
    CpuRegression,
    Downtimes,
    ScaleOutContext,
    choose,
    hottest_cpu,
    job_capacity,
    with_window,
    workers,
)
from testbed.baselines.daedalus.settings import DaedalusSettings
from testbed.baselines.daedalus.workload import Forecaster, History, extended, idled
from testbed.baselines.shared.signals import cpu_share
from testbed.baselines.shared.sizing import ON_NODES, SizeProposal, SizingPolicy, with_configured_placement


class DaedalusMemo(Memo):
    """All that is learned of an operator."""

    #: The nodes of its replicas.
    placement: tuple[str, ...]
    #: When it last started or was changed and ran again, seconds since the epoch.
    steady_from_s: float
    #: When the newest change that is known was ordered; 0 before any.
    changed_s: float
    downtimes: Downtimes
    #: By node; of the present placement only, for keys are dealt again at each change.
    lines: Mapping[str, CpuRegression] = {}
    #: The CPU of the hottest worker, 0..1, when the job could do no more.
    full_cpu: float = 1.0
    #: See `testbed.baselines.daedalus` (capacities, history, forecaster, downtimes).
    capacities: Capacities = Capacities()
    history: History | None = None
    forecaster: Forecaster = Forecaster()


def begun(
    policy: str, reading: OperatorReading, at_s: float, change: Order | None, settings: DaedalusSettings
) -> DaedalusMemo:
    """Return the first memo of an operator, with its last change as an old one."""
    return DaedalusMemo(
        policy=policy,
        at_s=at_s,
        placement=reading.placement,
        steady_from_s=at_s,
        changed_s=change.at_s if change else 0.0,
        downtimes=Downtimes(out_s=settings.downtime_out_s, in_s=settings.downtime_in_s),
    )


def learned(
    memo: DaedalusMemo, reading: OperatorReading, at_s: float, change: Order | None, settings: DaedalusSettings
) -> DaedalusMemo:
    """Return the memo with one observation more.

    Parameters
    ----------
    change
        The newest change, which has settled; None where there was none.
    """
    memo = _after_change(memo, reading, at_s, change)
    memo = _with_workload(memo, reading, at_s, settings)
    return _with_capacity(memo, reading, at_s, settings).model_copy(update={"at_s": at_s})


def _after_change(memo: DaedalusMemo, reading: OperatorReading, at_s: float, change: Order | None) -> DaedalusMemo:
    """Begin again with the workers after a change, and learn how long it stopped the job."""
    if change is not None and change.at_s > memo.changed_s:
        downtime_s = max(0.0, (change.downtime_s or 0.0) - (reading.trigger_s or 0.0))
        return memo.model_copy(
            update={
                "placement": reading.placement,
                "steady_from_s": change.at_s + downtime_s,
                "changed_s": change.at_s,
                "lines": {},
                "downtimes": memo.downtimes.learned(reading.replicas - len(memo.placement), downtime_s),
            }
        )
    if reading.placement != memo.placement:
        return memo.model_copy(update={"placement": reading.placement, "steady_from_s": at_s, "lines": {}})
    return memo


def _with_workload(
    memo: DaedalusMemo, reading: OperatorReading, at_s: float, settings: DaedalusSettings
) -> DaedalusMemo:
    """Take in what was offered and processed, judge the last forecast, and make the next."""
    history = extended(memo.history, reading.batches)
    if reading.input_rows_per_s == 0:
        history = idled(history, at_s)
    if history is None:
        return memo
    forecaster = memo.forecaster.updated(history, at_s, settings)
    return memo.model_copy(update={"history": history, "forecaster": forecaster})


def _with_capacity(
    memo: DaedalusMemo, reading: OperatorReading, at_s: float, settings: DaedalusSettings
) -> DaedalusMemo:
    """Take in what the workers did, unless part of that was in their first minutes."""
    if at_s - settings.loop_s < memo.steady_from_s + settings.warm_up_s:
        return memo
    window = workers(reading)
    if not window:
        return memo
    lines, full_cpu = with_window(memo.lines, window), memo.full_cpu
    if reading.saturated_share >= 1:
        # Waiting uses no CPU here: what the hottest worker reaches in place of 100 %.
        full_cpu = (full_cpu + hottest_cpu(window)) / 2
    found = job_capacity(lines, window, reading.replicas, full_cpu)
    capacities = memo.capacities.learned(reading.replicas, found, at_s)
    return memo.model_copy(update={"lines": lines, "full_cpu": full_cpu, "capacities": capacities})


@dataclass(frozen=True, slots=True)
class DaedalusPolicy(SizingPolicy):
    """Algorithm 1 over what the memo has learned."""

    name: ClassVar[str] = "daedalus"

    sizing: DaedalusSettings = field(default_factory=DaedalusSettings)

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Choose for each operator on its own; see `SizingPolicy`."""
        return {name: self._proposal(reading, observation.at_s, knowledge) for name, reading in readings.items()}

    def _proposal(self, reading: OperatorReading, at_s: float, knowledge: Knowledge) -> SizeProposal:
        rate = _known_number(reading.input_rows_per_s)
        if rate is None:
            detail = "the sources do not report what they offer"
            return SizeProposal(replicas=None, detail=detail, reason=Reason.METRICS_MISSING)
        memo = self._memo(reading, at_s, knowledge)
        most = self.workflow.operators[reading.operator].max_replicas
        capacities = memo.capacities.up_to(max(most, reading.replicas))
        if capacities:
            return self._sized(reading, at_s, memo, rate, capacities)
        steady_s = self.sizing.warm_up_s + self.sizing.loop_s
        return SizeProposal(
            replicas=None,
            detail=f"no capacity is known before {steady_s:g} s of steady work",
            reason=Reason.MODEL_UNCALIBRATED,
            memo=memo.model_dump_json(),
        )

    def _sized(
        self, reading: OperatorReading, at_s: float, memo: DaedalusMemo, rate: float, capacities: tuple[float, ...]
    ) -> SizeProposal:
        """Choose by the input rate, the capacities and the memo."""
        history = memo.history or History(until_s=at_s, offered_rows=0.0, rows_per_s=(rate,))
        rates, model_name = memo.forecaster.forecast(history, at_s, self.sizing)
        situation = ScaleOutContext(
            workers=reading.replicas,
            capacities=capacities,
            most_workers=self.workflow.operators[reading.operator].max_replicas,
            input_rows_per_s=rate,
            backlog_rows=_known_number(reading.backlog_rows),
            replayed_rows=self.sizing.checkpoint_s * history.rows_per_s[-1],
            forecast_rows_per_s=rates,
            downtimes=memo.downtimes,
            since_rescale_s=at_s - memo.changed_s if memo.changed_s else math.inf,
        )
        choice = choose(situation, self.sizing)
        figure = "CPU" if reading.by_node else cpu_share(reading)[1]
        return SizeProposal(
            replicas=choice.workers,
            detail=f"input {rate:,.0f} rows/s, at most {rates.max():,.0f} by {model_name}; {reading.replicas} do "
            f"{capacities[reading.replicas - 1]:,.0f} by {figure}; {choice.why}",
            memo=memo.model_dump_json(),
        )

    def _memo(self, reading: OperatorReading, at_s: float, knowledge: Knowledge) -> DaedalusMemo:
        """Return the memo with this observation taken in; as it is where it holds that already."""
        memo = load_memo(DaedalusMemo, self.name, reading.operator, knowledge)
        change = knowledge.latest(reading.operator)
        if memo is None or memo.at_s > at_s:
            memo = begun(self.name, reading, at_s, change, self.sizing)
        elif memo.at_s == at_s:
            return memo
        return learned(memo, reading, at_s, change, self.sizing)


def _known_number(figure: float | None) -> float | None:
    """Return a figure that is a finite number, else None."""
    return figure if figure is not None and math.isfinite(figure) else None


POLICY = PolicyInfo(
    name="daedalus",
    summary="the fewest replicas that carry the input, catch up in time after a stop, and carry the forecast",
    source="Pfister, Scheinert, Geldenhuys, Kao, Daedalus, ICPE 2024",
    build=with_configured_placement(DaedalusPolicy),
    settings=DaedalusSettings,
    accepts=ON_NODES,
    guide="reference/policies/daedalus.md",
    needs=("arena", "statsmodels"),
)
