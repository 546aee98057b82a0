"""Trigger-based dynamic allocation of Structured Streaming (SPARK-24815): executors by the use of the trigger interval.

Batches that use too much of their trigger interval add 1, 2, 4, ... executors, like Spark's dynamic allocation does
while tasks wait. Batches that end early for a while remove a share of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import ClassVar

from pydantic import Field

from gesscale.constraints import Ascending
from gesscale.fields import Duration, SettingsGroup
from gesscale.model.decision import Reason
from gesscale.model.observation import Batch, OperatorReading, WorkflowObservation
from gesscale.policies.memos import Memo, load_memo
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import Knowledge
from gesscale.wire import MAX_REPLICAS
from testbed.baselines.shared.sizing import (
    PLACEMENT_SETTINGS,
    SizeProposal,
    SizingPolicy,
    floor,
    with_configured_placement,
)


class TriggerDraSettings(SettingsGroup):
    """Dynamic allocation by the trigger interval (SPARK-24815)."""

    CONSTRAINTS = (Ascending("low_share", "high_share", strict=True),)

    high_share: float = Field(0.9, gt=0, le=10)
    """A batch is long from this share of its trigger interval. Default: 0.9, so that executors come before rows wait;
    the proposal names no number."""
    low_share: float = Field(0.5, ge=0, le=10)
    """A batch is short below this share. Default: half, so that half of the executors suffice."""
    backlog_timeout_s: Duration = 1.0
    """Time in which all batches are long before executors are added. Default: Spark's `schedulerBacklogTimeout`."""
    idle_timeout_s: Duration = 60.0
    """Time in which all batches are short before executors are removed. Default: Spark's `executorIdleTimeout`."""
    deallocation_ratio: float = Field(0.5, gt=0, le=1)
    """Share of the executors that a removal takes, 0..1. Default: half; the proposal names no number."""


class TriggerDraMemo(Memo):
    """The exponential growth."""

    #: Executors to add next.
    adds: int = Field(1, ge=1, le=MAX_REPLICAS)
    #: Executors that the decision of `at_s` adds; 0 if it adds none.
    added: int = Field(0, ge=0, le=MAX_REPLICAS)


@dataclass(frozen=True, slots=True)
class TriggerDraPolicy(SizingPolicy):
    """Adds 1, 2, 4, ... executors while batches are long, and removes a share when they are short."""

    name: ClassVar[str] = "trigger-dra"

    sizing: TriggerDraSettings = field(default_factory=TriggerDraSettings)

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Size each operator; see `testbed.baselines.shared.sizing.SizingPolicy`."""
        return {name: self._proposal(reading, observation.at_s, knowledge) for name, reading in readings.items()}

    def _proposal(self, reading: OperatorReading, at_s: float, knowledge: Knowledge) -> SizeProposal:
        settings, present = self.sizing, reading.replicas
        newest = reading.batches[-1] if reading.batches else None
        if newest is None or newest.trigger_s is None:
            return SizeProposal(replicas=None, detail="no trigger interval", reason=Reason.METRICS_MISSING)
        share = newest.seconds / newest.trigger_s
        detail = f"the last batch used {100 * share:.0f} % of its trigger interval"
        if share >= settings.high_share:
            long_s = _seconds(reading, lambda each: _used_share(each) >= settings.high_share)
            if long_s < settings.backlog_timeout_s:
                return SizeProposal(replicas=None, detail=f"{detail}, for {long_s:.1f} s", reason=Reason.COOLING_DOWN)
            adds = self._adds(reading.operator, at_s, knowledge)
            memo = TriggerDraMemo(policy=self.name, at_s=at_s, adds=min(2 * adds, MAX_REPLICAS), added=adds)
            text = memo.model_dump_json()
            return SizeProposal(replicas=present + adds, detail=f"{detail}: {adds} more", memo=text)
        text = TriggerDraMemo(policy=self.name, at_s=at_s).model_dump_json()
        short_s = _seconds(reading, lambda each: _used_share(each) < settings.low_share)
        if short_s < settings.idle_timeout_s or reading.backlog_rows is None:
            return SizeProposal(replicas=None, detail=f"{detail}, short for {short_s:.0f} s", memo=text)
        fewer = max(1, floor(present * settings.deallocation_ratio))
        detail += f", short for {short_s:.0f} s: {fewer} fewer"
        return SizeProposal(replicas=max(1, present - fewer), detail=detail, memo=text)

    def _adds(self, operator: str, at_s: float, knowledge: Knowledge) -> int:
        memo = load_memo(TriggerDraMemo, self.name, operator, knowledge)
        if memo is None or memo.at_s > at_s:
            return 1
        return max(1, memo.added) if memo.at_s == at_s else memo.adds


def _used_share(batch: Batch) -> float:
    return batch.seconds / batch.trigger_s if batch.trigger_s else 0.0


def _seconds(reading: OperatorReading, holds: Callable[[Batch], bool]) -> float:
    """Return for how long each batch on the present nodes has had a property, up to the newest."""
    present = set(reading.placement)
    run = list(takewhile(lambda each: set(each.nodes) == present and holds(each), reversed(reading.batches)))
    return run[0].ended_at_s - run[-1].began_s if run else 0.0


POLICY = PolicyInfo(
    name="trigger-dra",
    summary="adds 1, 2, 4, ... executors while batches use most of the trigger interval, removes half if they do not",
    source="Apache Spark, SPARK-24815 (pull request 42352, not merged)",
    build=with_configured_placement(TriggerDraPolicy),
    settings=TriggerDraSettings,
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/trigger-dra.md",
)
