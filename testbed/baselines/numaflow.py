"""Numaflow's autoscaling: the replicas that process what is pending in 20 s, two at a time, with cool-downs.

Source: numaproj/numaflow, pkg/reconciler/vertex/scaling/scaling.go and the constants of pkg/apis/numaflow/v1alpha1.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import ClassVar

from pydantic import Field

from gesscale.fields import MAX_ROWS, Duration, SettingsGroup
from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import Knowledge
from gesscale.wire import MAX_REPLICAS
from testbed.baselines.shared.signals import is_source
from testbed.baselines.shared.sizing import PLACEMENT_SETTINGS, SizeProposal, SizingPolicy, with_configured_placement


class NumaflowSettings(SettingsGroup):
    """`scale` of a vertex, and `limits` of its buffer; each default is Numaflow's."""

    lookback_s: Duration = 120.0
    """Time over which rate and pending rows are averaged: `lookbackSeconds`."""
    target_processing_s: Duration = 20.0
    """Time in which a source must process what is pending: `targetProcessingSeconds`."""
    replicas_per_scale: int = Field(2, ge=1, le=MAX_REPLICAS)
    """Largest change of the replicas: `replicasPerScaleUp`, `replicasPerScaleDown`."""
    scale_up_cooldown_s: Duration = 90.0
    """No scale-out for this long after a change of the operator: `scaleUpCooldownSeconds`."""
    scale_down_cooldown_s: Duration = 90.0
    """No scale-in for this long after a change of the operator: `scaleDownCooldownSeconds`."""
    buffer_rows: int = Field(30_000, ge=1, le=int(MAX_ROWS))
    """Rows between two operators that count as a full buffer: `bufferMaxLength`."""
    buffer_usage_limit: float = Field(0.8, gt=0, le=1)
    """Share of the buffer that may be used, 0..1: `bufferUsageLimit`."""
    target_buffer_availability: float = Field(0.5, gt=0, le=1)
    """Share of the buffer that should be free, 0..1: `targetBufferAvailability`."""


# A buffer with at least this share of its usable rows presses back (options.go).
_BACK_PRESSURE_SHARE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """Averages of an operator over the look-back."""

    #: Rows processed per second.
    rows_per_s: float
    #: Rows that wait or are being processed.
    rows: float


@dataclass(frozen=True, slots=True)
class NumaflowPolicy(SizingPolicy):
    """Sizes sources by the time that pending rows need, other operators by the free share of their buffer."""

    name: ClassVar[str] = "numaflow"

    sizing: NumaflowSettings = field(default_factory=NumaflowSettings)

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Size each operator; see `testbed.baselines.shared.sizing.SizingPolicy`."""
        pending = {name: self._pending(reading, observation.at_s) for name, reading in readings.items()}
        pressing = {
            name
            for name, found in pending.items()
            if found is not None
            and not is_source(name, self.workflow)
            and found.rows >= _BACK_PRESSURE_SHARE * self._usable_rows
        }
        proposals = {}
        for name, reading in readings.items():
            changed = knowledge.latest(name)
            since_s = math.inf if changed is None else observation.at_s - changed.at_s
            proposals[name] = self._proposal(reading, pending[name], pressing, since_s)
        return proposals

    @property
    def _usable_rows(self) -> float:
        return self.sizing.buffer_rows * self.sizing.buffer_usage_limit

    def _pending(self, reading: OperatorReading, at_s: float) -> Pending | None:
        """Return the averages over the look-back; None if the pending rows are unknown or no batch ended in it."""
        recent = [each for each in reading.batches if each.ended_at_s > at_s - self.sizing.lookback_s]
        waiting = [each.backlog_rows + each.rows for each in recent if each.backlog_rows is not None]
        if not waiting:
            return None
        began_s = min(each.ended_at_s - max(each.seconds, each.trigger_s or 0.0) for each in recent)
        seconds = recent[-1].ended_at_s - began_s
        rate = sum(each.rows for each in recent) / seconds if seconds > 0 else 0.0
        return Pending(rows_per_s=rate, rows=fmean(waiting))

    def _proposal(
        self, reading: OperatorReading, found: Pending | None, pressing: set[str], since_s: float
    ) -> SizeProposal:
        settings, present, name = self.sizing, reading.replicas, reading.operator
        if found is None or not math.isfinite(found.rows):
            return SizeProposal(replicas=None, detail="pending rows unknown", reason=Reason.METRICS_MISSING)
        desired = self._desired(reading, found)
        detail = f"{found.rows:.0f} rows pending at {found.rows_per_s:.0f} rows/s: {desired} desired"
        if desired > present and pressing.intersection(self.workflow.downstream(name)):
            size = max(1, present - 1)
            return SizeProposal(replicas=size, detail=f"{detail}; a consumer presses back", reason=_NOT_ROOT)
        if desired > present and pressing.intersection(self._descendants(name)):
            return SizeProposal(replicas=None, detail=f"{detail}; back pressure downstream", reason=_NOT_ROOT)
        wait_s = settings.scale_up_cooldown_s if desired > present else settings.scale_down_cooldown_s
        if desired != present and since_s < wait_s:
            detail = f"{detail}; cool-down, {wait_s - since_s:.0f} s left"
            return SizeProposal(replicas=None, detail=detail, reason=Reason.COOLING_DOWN)
        step = settings.replicas_per_scale
        return SizeProposal(replicas=min(present + step, max(present - step, desired)), detail=detail)

    def _desired(self, reading: OperatorReading, found: Pending) -> int:
        settings, present = self.sizing, reading.replicas
        if found.rows <= 0 or found.rows_per_s <= 0:
            return 1
        if is_source(reading.operator, self.workflow):
            exact = found.rows / found.rows_per_s / settings.target_processing_s * present
        elif found.rows >= self._usable_rows:
            exact = present + settings.replicas_per_scale
        else:
            free_by_each = (self._usable_rows - found.rows) / present
            exact = settings.buffer_rows * settings.target_buffer_availability / free_by_each
        return max(1, math.floor(min(exact, found.rows, MAX_REPLICAS) + 0.5))

    def _descendants(self, name: str) -> set[str]:
        return {other for other in self.workflow.operators if name in self.workflow.ancestors(other)}


_NOT_ROOT = Reason.NOT_ROOT_OF_OVERLOAD

POLICY = PolicyInfo(
    name="numaflow",
    summary="the replicas that process all pending rows within 20 s, two at a time",
    source="Numaflow, pkg/reconciler/vertex/scaling",
    build=with_configured_placement(NumaflowPolicy),
    settings=NumaflowSettings,
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/numaflow.md",
)
