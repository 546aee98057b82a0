"""DS2 (Kalavri et al., OSDI 2018): true rates, pushed down the workflow, size all operators in one decision.

An operator's true rate is what it would process if it were never idle. What the sources are offered, times what each
operator hands on per row, is what comes to every other operator; divided by the true rate of a replica it is the
number of replicas. As Kanis ran it (2023, sections 4.3 and 6.7.2), sources are sized as well and every size is
over-provided.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import median_high
from typing import ClassVar, Literal

from pydantic import Field

from gesscale.analyze.capacity import has_backlog
from gesscale.fields import Duration
from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.policies.memos import Memo, load_memo
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import Knowledge
from testbed.baselines.shared.signals import (
    cpu_share,
    demand_of,
    is_source,
    required_rates,
    selectivity,
    true_rate_per_replica,
)
from testbed.baselines.shared.sizing import (
    ON_NODES,
    TOGETHER,
    SizeProposal,
    SizingPolicy,
    SizingSettings,
    blocking_proposal,
    ceiling,
    with_configured_placement,
)


class Ds2Settings(SizingSettings):
    """DS2 (Kalavri et al., OSDI 2018) as Kanis ran it (2023, section 6.7.2)."""

    over_provision: float = Field(1.2, ge=1, le=10)
    """Factor on the replicas of each operator. Default: Kanis 6.7.2; the sizes alone never drain a backlog."""
    useful_time: Literal["busy", "cpu"] = "busy"
    """What useful time is: the share of time in batches, or CPU use, which leaves waiting out. Default: busy time, as
    in Kanis 6.7.2."""
    max_busy_share: float = Field(1.0, ge=0.001, le=1)
    """Useful time of an operator at its limit, 0..1; true rates are those at this share. Default: all of it, as in
    Kanis's tables. In his section 8.3, back pressure keeps it below."""
    drain_horizon_s: Duration | None = None
    """Time in which a backlog must drain while input comes. Default: none, backlogs do not count; the variant in
    Kanis's framework has 120 s."""
    activation_windows: int = Field(1, ge=1, le=100)
    """The policy acts on the median of so many decisions since the last change. Default: the newest alone."""


#: Beyond any limit: what figures that are next to nothing are taken for.
_MOST_REPLICAS = 10**6


class Ds2Memo(Memo):
    """The sizes that were found for an operator in the windows since the workflow's last change, oldest first."""

    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ds2Policy(SizingPolicy):
    """As many replicas as the rate that is to come needs at the true rate of one; all operators or none."""

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
        doubt = self._blocking_reason(readings, pushed_down, observation)
        if doubt is not None:
            return dict.fromkeys(readings, doubt)
        proposals = {}
        for name, reading in readings.items():
            sized = self._sized(reading, self._to_come(reading, pushed_down[name]))
            proposal = replace(sized, detail=sized.detail + self._handed_on(name, readings))
            proposals[name] = self._activated(name, proposal, observation.at_s, changed_at_s, knowledge)
        return proposals

    # What one window says

    def _drain_rows_per_s(self, reading: OperatorReading) -> float:
        """Return the rate, on top of its input, at which an operator's backlog drains within the horizon, rows/s."""
        backlog, horizon_s = reading.backlog_rows, self.sizing.drain_horizon_s
        if horizon_s is None or backlog is None or not (math.isfinite(backlog) and has_backlog(reading)):
            return 0.0
        return backlog / horizon_s

    def _to_come(self, reading: OperatorReading, pushed_down: float) -> float:
        """Return the rate that is to come to an operator, rows/s.

        That is what was pushed down to it. Where it reads a topic of its own and rows pile up there, it is no less than
        what is offered to it, plus the rate for its own backlog.
        """
        if is_source(reading.operator, self.workflow):
            return pushed_down
        return demand_of(reading, pushed_down) + self._drain_rows_per_s(reading)

    def _sized(self, reading: OperatorReading, to_come: float) -> SizeProposal:
        """Return the replicas that a rate needs, and the reason; none where they stay as they are."""
        wanted = f"{to_come:.0f} rows/s are to come"
        if reading.throughput_rows_per_s == 0:
            return SizeProposal(replicas=None, detail=f"{wanted}; it processes none, so its true rate is not known")
        share, what = self._useful(reading)
        rate = true_rate_per_replica(replace(reading, busy_share=share / self.sizing.max_busy_share))
        if rate is None:
            size, detail = 1, f"{wanted}; what it processes takes it no time that can be measured"
        else:
            size = max(1, ceiling(min(to_come / rate, _MOST_REPLICAS)))
            detail = f"{wanted}; a replica does {rate:.0f} when never idle ({what} {100 * share:.0f} %)"
        if size < reading.replicas and reading.input_rows_per_s is None:
            detail += "; it gives none up while its input is not known"
            return SizeProposal(replicas=None, detail=detail, reason=Reason.METRICS_MISSING)
        return SizeProposal(replicas=size, detail=detail)

    def _useful(self, reading: OperatorReading) -> tuple[float, str]:
        if self.sizing.useful_time == "cpu":
            return cpu_share(reading)
        return reading.busy_share, "share of time in batches"

    def _handed_on(self, name: str, readings: Mapping[str, OperatorReading]) -> str:
        consumers = self.workflow.downstream(name)
        if not consumers:
            return ""
        reported = readings[name].output_rows_per_s is not None
        seen = any(readings[consumer].input_rows_per_s is not None for consumer in consumers)
        how = "as it reports" if reported else "by its consumers' input" if seen else "for want of figures"
        return f"; it hands on {selectivity(name, self.workflow, readings):.3g} rows for each, {how}"

    # Whether it may be acted on

    def _changed_at_s(self, knowledge: Knowledge) -> float:
        changes = (knowledge.latest(name) for name in self.workflow.operators)
        return max((change.at_s for change in changes if change is not None), default=-math.inf)

    def _blocking_reason(
        self, readings: Mapping[str, OperatorReading], to_come: Mapping[str, float], observation: WorkflowObservation
    ) -> SizeProposal | None:
        """Return why nothing can be proposed for any operator; None where all are known."""
        if (proposal := blocking_proposal(self.workflow, readings, observation)) is not None:
            return proposal
        for name in self.workflow.topological_order:
            if not self._is_whole(readings[name]) or name not in to_come:
                detail = f"the input, throughput or useful time of {name} is not known, and {TOGETHER}"
                return SizeProposal(replicas=None, detail=detail, reason=Reason.METRICS_MISSING)
        return None

    def _is_whole(self, reading: OperatorReading) -> bool:
        share, _ = self._useful(reading)
        return all(math.isfinite(figure) and figure >= 0 for figure in (reading.throughput_rows_per_s, share))

    def _activated(
        self, name: str, proposal: SizeProposal, at_s: float, changed_at_s: float, knowledge: Knowledge
    ) -> SizeProposal:
        """Return the proposal once there are enough windows since the last change: the median of what they say."""
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
            detail = f"{proposal.detail}; that is {size}, and {len(memo.sizes)} of {windows} windows"
            return replace(proposal, replicas=None, detail=detail, memo=text)
        detail = f"{proposal.detail}; that is {size}, and the median of {windows} windows counts"
        return replace(proposal, replicas=median_high(memo.sizes), detail=detail, memo=text)


POLICY = PolicyInfo(
    name="ds2",
    summary="true rates, pushed down the workflow, size all operators in one decision",
    source="Kalavri et al., Three steps is all you need, OSDI 2018; as in Kanis, TU Delft 2023, section 6.7.2",
    build=with_configured_placement(Ds2Policy),
    settings=Ds2Settings,
    accepts=ON_NODES,
    guide="reference/policies/ds2.md",
)
