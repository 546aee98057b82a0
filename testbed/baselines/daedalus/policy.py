"""The policy `daedalus` (Pfister et al., ICPE 2024): capacity from CPU, ARIMA forecasts, and a target recovery time.

Every operator is a separate job whose target load is its own input. Its memo has all that the policy learned.
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
    explain,
    hottest_cpu,
    job_capacity,
    with_window,
    workers,
)
from testbed.baselines.daedalus.settings import DaedalusSettings
from testbed.baselines.daedalus.workload import Forecaster, History, extend_history, with_idle_time
from testbed.baselines.shared.signals import cpu_share
from testbed.baselines.shared.sizing import PLACEMENT_SETTINGS, SizeProposal, SizingPolicy, with_configured_placement


class DaedalusMemo(Memo):
    """Memo of an operator."""

    #: The nodes of its replicas.
    placement: tuple[str, ...]
    #: Time of the last start, or of the restart after a change, seconds since the epoch.
    steady_from_s: float
    #: Time of the newest known order; 0 if there was none.
    changed_s: float
    downtimes: Downtimes
    #: Regressions by node, for the present placement only, because each change distributes keys again.
    lines: Mapping[str, CpuRegression] = {}
    #: CPU of the hottest worker, 0..1, when the job was at its limit.
    full_cpu: float = 1.0
    #: Learned capacities, load history and forecast (capacities, history, forecaster).
    capacities: Capacities = Capacities()
    history: History | None = None
    forecaster: Forecaster = Forecaster()


def initial_memo(
    policy: str, reading: OperatorReading, at_s: float, change: Order | None, settings: DaedalusSettings
) -> DaedalusMemo:
    """Return the first memo of an operator; its last change counts as known."""
    return DaedalusMemo(
        policy=policy,
        at_s=at_s,
        placement=reading.placement,
        steady_from_s=at_s,
        changed_s=change.at_s if change else 0.0,
        downtimes=Downtimes(out_s=settings.downtime_out_s, in_s=settings.downtime_in_s),
    )


def updated_memo(
    memo: DaedalusMemo, reading: OperatorReading, at_s: float, change: Order | None, settings: DaedalusSettings
) -> DaedalusMemo:
    """Update the memo with one observation.

    Parameters
    ----------
    change
        The newest settled change; None if there was none.
    """
    memo = _after_change(memo, reading, at_s, change)
    memo = _with_workload(memo, reading, at_s, settings)
    return _with_capacity(memo, reading, at_s, settings).model_copy(update={"at_s": at_s})


def _after_change(memo: DaedalusMemo, reading: OperatorReading, at_s: float, change: Order | None) -> DaedalusMemo:
    """Reset the regressions of the workers after a change, and learn its downtime."""
    if change is not None and change.at_s > memo.changed_s:
        downtime_s = change.downtime_s or 0.0
        return memo.model_copy(
            update={
                "placement": reading.placement,
                "steady_from_s": change.at_s + downtime_s,
                "changed_s": change.at_s,
                "lines": {},
                "downtimes": memo.downtimes.updated(reading.replicas - len(memo.placement), downtime_s),
            }
        )
    if reading.placement != memo.placement:
        return memo.model_copy(update={"placement": reading.placement, "steady_from_s": at_s, "lines": {}})
    return memo


def _with_workload(
    memo: DaedalusMemo, reading: OperatorReading, at_s: float, settings: DaedalusSettings
) -> DaedalusMemo:
    """Add the offered and processed rows, evaluate the last forecast, and make the next one."""
    history = extend_history(memo.history, reading.offered_points)
    if reading.input_rows_per_s == 0:
        history = with_idle_time(history, at_s)
    if history is None:
        return memo
    forecaster = memo.forecaster.updated(history, at_s, settings)
    return memo.model_copy(update={"history": history, "forecaster": forecaster})


def _with_capacity(
    memo: DaedalusMemo, reading: OperatorReading, at_s: float, settings: DaedalusSettings
) -> DaedalusMemo:
    """Add the samples of the workers, unless some are from the warm-up."""
    if at_s - settings.loop_s < memo.steady_from_s + settings.warm_up_s:
        return memo
    window = workers(reading)
    if not window:
        return memo
    lines, full_cpu = with_window(memo.lines, window), memo.full_cpu
    if reading.saturated_share >= 1:
        # Waiting uses no CPU here, so the hottest worker stays below 100 %.
        full_cpu = (full_cpu + hottest_cpu(window)) / 2
    found = job_capacity(lines, window, reading.replicas, full_cpu)
    capacities = memo.capacities.updated(reading.replicas, found, at_s)
    return memo.model_copy(update={"lines": lines, "full_cpu": full_cpu, "capacities": capacities})


@dataclass(frozen=True, slots=True)
class DaedalusPolicy(SizingPolicy):
    """Applies Algorithm 1 to the capacities, forecasts and downtimes of the memo."""

    name: ClassVar[str] = "daedalus"

    sizing: DaedalusSettings = field(default_factory=DaedalusSettings)

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Choose for each operator separately; see `SizingPolicy`."""
        return {name: self._proposal(reading, observation.at_s, knowledge) for name, reading in readings.items()}

    def _proposal(self, reading: OperatorReading, at_s: float, knowledge: Knowledge) -> SizeProposal:
        rate = _known_number(reading.input_rows_per_s)
        if rate is None:
            detail = "offered rate unknown: the sources do not report it"
            return SizeProposal(replicas=None, detail=detail, reason=Reason.METRICS_MISSING)
        memo = self._memo(reading, at_s, knowledge)
        most = self.workflow.operators[reading.operator].max_replicas
        capacities = memo.capacities.up_to(max(most, reading.replicas))
        if capacities:
            return self._sized(reading, at_s, memo, rate, capacities)
        if math.isnan(cpu_share(reading)):
            return SizeProposal(replicas=None, detail="CPU not reported", reason=Reason.METRICS_MISSING)
        steady_s = self.sizing.warm_up_s + self.sizing.loop_s
        return SizeProposal(
            replicas=None,
            detail=f"capacity unknown: needs {steady_s:g} s of steady operation",
            reason=Reason.MODEL_UNCALIBRATED,
            memo=memo.model_dump_json(),
        )

    def _sized(
        self, reading: OperatorReading, at_s: float, memo: DaedalusMemo, rate: float, capacities: tuple[float, ...]
    ) -> SizeProposal:
        """Choose by the input rate, the capacities and the memo."""
        situation, model_name = self.context(reading, at_s, memo, rate, capacities)
        rates, choice = situation.forecast_rows_per_s, choose(situation, self.sizing)
        return SizeProposal(
            replicas=choice.workers,
            detail=f"input {rate:,.0f} rows/s, forecast up to {rates.max():,.0f} ({model_name}); capacity of "
            f"{reading.replicas} replicas {capacities[reading.replicas - 1]:,.0f} rows/s; "
            f"{explain(choice, situation, self.sizing)}",
            memo=memo.model_dump_json(),
        )

    def context(
        self, reading: OperatorReading, at_s: float, memo: DaedalusMemo, rate: float, capacities: tuple[float, ...]
    ) -> tuple[ScaleOutContext, str]:
        """Return the inputs of the decision, and the name of the forecast model."""
        history = memo.history or History(until_s=at_s, offered_rows=0.0, rows_per_s=(rate,))
        rates, model_name = memo.forecaster.forecast(history, at_s, self.sizing)
        found = ScaleOutContext(
            workers=reading.replicas,
            capacities=capacities,
            max_workers=self.workflow.operators[reading.operator].max_replicas,
            input_rows_per_s=rate,
            backlog_rows=_known_number(reading.backlog_rows),
            replayed_rows=self.sizing.checkpoint_s * history.rows_per_s[-1],
            forecast_rows_per_s=rates,
            downtimes=memo.downtimes,
            since_rescale_s=at_s - memo.changed_s if memo.changed_s else math.inf,
        )
        return found, model_name

    def _memo(self, reading: OperatorReading, at_s: float, knowledge: Knowledge) -> DaedalusMemo:
        """Return the memo including this observation; unchanged if it has it already."""
        memo = load_memo(DaedalusMemo, self.name, reading.operator, knowledge)
        change = knowledge.latest(reading.operator)
        if memo is None or memo.at_s > at_s:
            memo = initial_memo(self.name, reading, at_s, change, self.sizing)
        elif memo.at_s == at_s:
            return memo
        return updated_memo(memo, reading, at_s, change, self.sizing)


def _known_number(figure: float | None) -> float | None:
    """Return the figure if it is finite, else None."""
    return figure if figure is not None and math.isfinite(figure) else None


POLICY = PolicyInfo(
    name="daedalus",
    summary="the fewest replicas that sustain input and forecast, and recover in time after a stop",
    source="Pfister, Scheinert, Geldenhuys, Kao, Daedalus, ICPE 2024",
    build=with_configured_placement(DaedalusPolicy),
    settings=DaedalusSettings,
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/daedalus.md",
    needs=("arena", "statsmodels"),
)
