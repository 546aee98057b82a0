"""DS2 (Kalavri et al., OSDI 2018): sizes all operators in one decision by their true rates.

The true rate of an operator is its throughput without idle time. The offered load of the sources, multiplied by the
selectivity of each operator, is the load of the operators downstream. Divided by the true rate of a replica it gives
the number of replicas. As in Kanis (2023, sections 4.3 and 6.7.2), sources are sized too, with over-provisioning.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import median_high
from typing import ClassVar

from pydantic import Field

from gesscale.analyze.capacity import has_backlog
from gesscale.fields import Duration
from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.policies.memos import Memo, load_memo
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import Knowledge
from testbed.baselines.shared.signals import is_source
from testbed.baselines.shared.sizing import (
    PLACEMENT_SETTINGS,
    SIZED_TOGETHER,
    SizeProposal,
    SizingPolicy,
    blocking_proposal,
    ceiling,
    with_configured_placement,
)
from testbed.baselines.shared.true_rates import (
    TrueRateSettings,
    demand_of,
    required_rates,
    selectivity,
    true_rate_per_replica,
    useful_share,
)


class Ds2Settings(TrueRateSettings):
    """DS2 (Kalavri et al., OSDI 2018) as configured by Kanis (2023, section 6.7.2)."""

    over_provision: float = Field(1.2, ge=0.1, le=10)
    """Factor on the replicas of each operator. Default: Kanis 6.7.2; the sizes alone never drain a backlog."""
    max_busy_share: float = Field(1.0, ge=0.001, le=1)
    """Useful time of an operator at its limit, 0..1; true rates refer to this share. Default: 1, as in Kanis's tables.
    In his section 8.3, back pressure keeps it below."""
    drain_horizon_s: Duration | None = None
    """Time in which a backlog must drain during normal input. Default: none, backlogs are ignored; the variant in
    Kanis's framework has 120 s."""
    activation_windows: int = Field(1, ge=1, le=100)
    """The policy uses the median of this many decisions since the last change. Default: only the newest."""


#: Beyond any limit; used if a true rate is nearly zero.
_MAX_REPLICAS = 10**6


class Ds2Memo(Memo):
    """Sizes of an operator in the windows since the last change of the workflow, oldest first."""

    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ds2Policy(SizingPolicy):
    """Sizes each operator by its load over the true rate of one replica; all operators or none."""

    name: ClassVar[str] = "ds2"

    sizing: Ds2Settings = field(default_factory=Ds2Settings)

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Size every operator; see `testbed.baselines.shared.sizing.SizingPolicy`."""
        offered = {
            name: reading.input_rows_per_s + self._drain_rows_per_s(reading)
            for name, reading in readings.items()
            if is_source(name, self.workflow) and reading.input_rows_per_s is not None
        }
        pushed_down = required_rates(self.workflow, readings, offered)
        changed_at_s = self._changed_at_s(knowledge)
        blocked = self._blocking_reason(readings, pushed_down, observation)
        if blocked is not None:
            return dict.fromkeys(readings, blocked)
        proposals = {}
        for name, reading in readings.items():
            sized = self._sized(reading, self._load(reading, pushed_down[name]))
            proposal = replace(sized, detail=sized.detail + self._output_detail(name, readings))
            proposals[name] = self._activated(name, proposal, observation.at_s, changed_at_s, knowledge)
        return proposals

    # Sizes of one window

    def _drain_rows_per_s(self, reading: OperatorReading) -> float:
        """Return the rate beyond its input that drains an operator's backlog within the horizon, rows/s."""
        backlog, horizon_s = reading.backlog_rows, self.sizing.drain_horizon_s
        if horizon_s is None or backlog is None or not (math.isfinite(backlog) and has_backlog(reading)):
            return 0.0
        return backlog / horizon_s

    def _load(self, reading: OperatorReading, pushed_down: float) -> float:
        """Return the rate that an operator has to process, rows/s.

        This is the rate from upstream. If the operator has a backlog in its own topic, it is at least its own input,
        plus the rate that drains the backlog.
        """
        if is_source(reading.operator, self.workflow):
            return pushed_down
        return demand_of(reading, pushed_down) + self._drain_rows_per_s(reading)

    def _sized(self, reading: OperatorReading, load: float) -> SizeProposal:
        """Return the number of replicas for a rate, with the figures; None for no change."""
        expected = f"{load:.0f} rows/s expected"
        if reading.throughput_rows_per_s == 0:
            return SizeProposal(replicas=None, detail=f"{expected}; true rate unknown: no rows processed")
        share = useful_share(reading, self.sizing.useful_time)
        rate = true_rate_per_replica(reading, self.sizing.useful_time)
        if rate is None:
            size, detail = 1, f"{expected}; its busy time is too short to measure"
        else:
            rate *= self.sizing.max_busy_share
            size = max(1, ceiling(min(load / rate, _MAX_REPLICAS)))
            detail = f"{expected}; true rate {rate:.0f} rows/s per replica (useful time {100 * share:.0f} %)"
        if size < reading.replicas and reading.input_rows_per_s is None:
            detail += "; no scale-in while its input is unknown"
            return SizeProposal(replicas=None, detail=detail, reason=Reason.METRICS_MISSING)
        return SizeProposal(replicas=size, detail=detail)

    def _output_detail(self, name: str, readings: Mapping[str, OperatorReading]) -> str:
        consumers = self.workflow.downstream(name)
        if not consumers:
            return ""
        reported = readings[name].output_rows_per_s is not None
        derived = any(readings[consumer].input_rows_per_s is not None for consumer in consumers)
        source = "reported" if reported else "from the input of its consumers" if derived else "assumed"
        return f"; selectivity {selectivity(name, self.workflow, readings):.3g} ({source})"

    # Conditions of a change

    def _changed_at_s(self, knowledge: Knowledge) -> float:
        changes = (knowledge.latest(name) for name in self.workflow.operators)
        return max((change.at_s for change in changes if change is not None), default=-math.inf)

    def _blocking_reason(
        self, readings: Mapping[str, OperatorReading], loads: Mapping[str, float], observation: WorkflowObservation
    ) -> SizeProposal | None:
        """Return the proposal of no change if a figure of an operator is missing; None if all are known."""
        if (proposal := blocking_proposal(self.workflow, readings, observation)) is not None:
            return proposal
        for name in self.workflow.topological_order:
            if not self._is_complete(readings[name]) or name not in loads:
                detail = f"input, throughput or useful time of {name} unknown; {SIZED_TOGETHER}"
                return SizeProposal(replicas=None, detail=detail, reason=Reason.METRICS_MISSING)
        return None

    def _is_complete(self, reading: OperatorReading) -> bool:
        share = useful_share(reading, self.sizing.useful_time)
        return all(math.isfinite(figure) and figure >= 0 for figure in (reading.throughput_rows_per_s, share))

    def _activated(
        self, name: str, proposal: SizeProposal, at_s: float, changed_at_s: float, knowledge: Knowledge
    ) -> SizeProposal:
        """Return the median proposal once there are enough windows since the last change."""
        windows, size = self.sizing.activation_windows, proposal.replicas
        if windows == 1 or size is None:
            return proposal
        memo = load_memo(Ds2Memo, self.name, name, knowledge)
        if memo is None or not changed_at_s < memo.at_s <= at_s:
            memo = Ds2Memo(policy=self.name, at_s=at_s, sizes=(size,))
        elif memo.at_s < at_s:
            memo = Ds2Memo(policy=self.name, at_s=at_s, sizes=(*memo.sizes, size)[-windows:])
        text = memo.model_dump_json()
        if len(memo.sizes) < windows:
            detail = f"{proposal.detail}; size {size}, {len(memo.sizes)} of {windows} windows"
            return replace(proposal, replicas=None, detail=detail, memo=text)
        detail = f"{proposal.detail}; size {size}, median of {windows} windows"
        return replace(proposal, replicas=median_high(memo.sizes), detail=detail, memo=text)


POLICY = PolicyInfo(
    name="ds2",
    summary="sizes all operators in one decision by their true rates",
    source="Kalavri et al., Three steps is all you need, OSDI 2018; as in Kanis, TU Delft 2023, section 6.7.2",
    build=with_configured_placement(Ds2Policy),
    settings=Ds2Settings,
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/ds2.md",
)
