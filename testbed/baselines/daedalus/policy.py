"""Daedalus (Pfister et al., ICPE 2024): capacities learned from CPU, ARIMA forecasts, and a target recovery time.

Every operator is a job of its own, and its target load is its own input. What is learned of it is in its memo.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.policies.memos import recalled
from gesscale.policies.registry import PolicyCard
from gesscale.ports import Knowledge
from testbed.baselines.daedalus.memo import DaedalusMemo, begun, learned
from testbed.baselines.daedalus.scale_out import ScaleOutContext, choose
from testbed.baselines.daedalus.settings import DaedalusSettings
from testbed.baselines.daedalus.workload import History
from testbed.baselines.shared.signals import cpu_share
from testbed.baselines.shared.sizing import ON_NODES, SizeProposal, SizingPolicy, on_nodes_as_told


@dataclass(frozen=True, slots=True)
class DaedalusPolicy(SizingPolicy):
    """Algorithm 1 over what the memo has learned."""

    name: ClassVar[str] = "daedalus"

    sizing: DaedalusSettings = field(default_factory=DaedalusSettings)

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Choose for each operator on its own; see `SizingPolicy`."""
        return {
            name: self._proposal(reading, observation.at_s, knowledge) for name, reading in readings.items()
        }

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
        self,
        reading: OperatorReading,
        at_s: float,
        memo: DaedalusMemo,
        rate: float,
        capacities: tuple[float, ...],
    ) -> SizeProposal:
        """Choose by the input rate, the capacities and the memo."""
        history = memo.history or History(until_s=at_s, offered_rows=0.0, rows_per_s=(rate,))
        outlook, forecast = memo.forecaster.outlook(history, at_s, self.sizing)
        situation = ScaleOutContext(
            workers=reading.replicas,
            capacities=capacities,
            most_workers=self.workflow.operators[reading.operator].max_replicas,
            input_rows_per_s=rate,
            backlog_rows=_known_number(reading.backlog_rows),
            replayed_rows=self.sizing.checkpoint_s * history.rows_per_s[-1],
            forecast_rows_per_s=outlook,
            downtimes=memo.downtimes,
            since_rescale_s=at_s - memo.changed_s if memo.changed_s else math.inf,
        )
        choice = choose(situation, self.sizing)
        figure = "CPU" if reading.by_node else cpu_share(reading)[1]
        return SizeProposal(
            replicas=choice.workers,
            detail=f"input {rate:,.0f} rows/s, at most {outlook.max():,.0f} by {forecast}; {reading.replicas} do "
            f"{capacities[reading.replicas - 1]:,.0f} by {figure}; {choice.why}",
            memo=memo.model_dump_json(),
        )

    def _memo(self, reading: OperatorReading, at_s: float, knowledge: Knowledge) -> DaedalusMemo:
        """Return the memo with this observation taken in; as it is where it holds that already."""
        memo = recalled(DaedalusMemo, self.name, reading.operator, knowledge)
        change = knowledge.latest(reading.operator)
        if memo is None or memo.at_s > at_s:
            memo = begun(self.name, reading, at_s, change, self.sizing)
        elif memo.at_s == at_s:
            return memo
        return learned(memo, reading, at_s, change, self.sizing)


def _known_number(figure: float | None) -> float | None:
    """Return a figure that is a finite number, else None."""
    return figure if figure is not None and math.isfinite(figure) else None


CARD = PolicyCard(
    name="daedalus",
    summary="the fewest replicas that carry the input, catch up in time after a stop, and carry the forecast",
    source="Pfister, Scheinert, Geldenhuys, Kao, Daedalus, ICPE 2024",
    build=on_nodes_as_told(DaedalusPolicy),
    settings=DaedalusSettings,
    accepts=ON_NODES,
    guide="reference/policies/daedalus.md",
    needs=("arena", "statsmodels"),
)
