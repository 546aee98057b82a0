"""HPA, the Horizontal Pod Autoscaler for single operators: on CPU, and on Varga's two metrics (Kanis 2023, 6.7.3-4).

Each operator gets the number of replicas that brings a metric to its target. It scales out immediately, and scales in
only to the highest proposal within a stabilization window.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from pydantic import Field

from gesscale.fields import Duration
from gesscale.formatting import format_duration
from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.policies.memos import Memo, load_memo
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import Knowledge
from testbed.baselines.shared.bottlenecks import Bottlenecks, LagSettings, is_blocked, lag_grows, lag_growth
from testbed.baselines.shared.signals import cpu_share, is_source
from testbed.baselines.shared.sizing import (
    PLACEMENT_SETTINGS,
    SizeProposal,
    SizingPolicy,
    SizingSettings,
    ceiling,
    with_configured_placement,
)


class HpaSettings(SizingSettings):
    """Settings of both variants: the core of the Horizontal Pod Autoscaler (Kanis 2023, section 6.7.3)."""

    scale_down_stabilization_s: Duration = 300.0
    """Scale-in uses the highest proposal within this time. Default: Kanis, tables 6.3 and 6.4, as in Kubernetes."""


class HpaCpuSettings(HpaSettings):
    """HPA on CPU utilisation (Kanis 2023, table 6.3)."""

    cpu_target_share: float = Field(0.7, ge=0.001, le=1)
    """Target of the CPU utilisation, 0..1. Default: table 6.3. A target that the CPU never exceeds adds no replica."""


class HpaVargaSettings(HpaSettings, LagSettings):
    """HPA on utilisation and relative lag change (Kanis 2023, table 6.4)."""

    utilisation_target_share: float = Field(0.7, ge=0.001, le=1)
    """Target of the share of busy time, 0..1. Default: table 6.4; 0.6 was better on periodic loads."""
    useful_time: Literal["busy", "cpu"] = "busy"
    """Utilisation: the share of time in batches, or CPU usage, which excludes waiting for other replicas and the
    network. Default: time in batches, which reaches 1 at every overload."""
    held_back_counts: bool = False
    """Count an operator under back pressure as fully busy, as Flink's idle time does. Default: no, because it needs
    no replica; on Spark no operator is under back pressure."""


class Recommendations(Memo):
    """The latest proposals."""

    #: Instants and replicas, oldest first, strictly decreasing: a proposal that was followed by an equal or higher
    #: one has no effect. So there are at most ``max_replicas``.
    proposals: tuple[tuple[float, int], ...] = Field(min_length=1)

    @property
    def most(self) -> int:
        """The highest proposal."""
        return max(count for _, count in self.proposals)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRatio:
    """Metric of an operator relative to its target."""

    #: Metric divided by target; not finite if unknown.
    ratio: float
    #: Metric and target as text.
    detail: str


@dataclass(frozen=True, slots=True)
class HpaPolicy(SizingPolicy):
    """The core of the HPA: computes replicas from the ratios of metrics to targets."""

    @property
    @abstractmethod
    def sizing(self) -> HpaSettings:
        """Settings of the policy."""

    @abstractmethod
    def loads(self, readings: Mapping[str, OperatorReading]) -> Mapping[str, TargetRatio]:
        """Return the ratio of metric to target for each operator."""

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Bring the metric of each operator to its target (equation 4.3); see `SizingPolicy`."""
        return {
            name: self._proposal(readings[name], load, observation.at_s, knowledge)
            for name, load in self.loads(readings).items()
        }

    def _proposal(self, reading: OperatorReading, load: TargetRatio, at_s: float, knowledge: Knowledge) -> SizeProposal:
        if not math.isfinite(load.ratio):
            return SizeProposal(replicas=None, detail=f"{load.detail} is not finite", reason=Reason.METRICS_MISSING)
        present, settings = reading.replicas, self.sizing
        proposed = max(1, ceiling(present * load.ratio))
        memo = self._with_proposal(reading, proposed, at_s, knowledge)
        detail, text = f"{load.detail}: {present} -> {proposed} replicas", memo.model_dump_json()
        if proposed >= present or memo.most == proposed:
            return SizeProposal(replicas=proposed, detail=detail, memo=text)
        window = format_duration(settings.scale_down_stabilization_s)
        detail += f", stabilized at {memo.most}, the highest of the last {window}"
        replicas = memo.most if memo.most < present else None
        return SizeProposal(replicas=replicas, detail=detail, reason=Reason.COOLING_DOWN, memo=text)

    def _with_proposal(
        self, reading: OperatorReading, proposed: int, at_s: float, knowledge: Knowledge
    ) -> Recommendations:
        """Return the recommendations with a new one; the present replicas count as the first recommendation."""
        limit = self.workflow.operators[reading.operator].max_replicas
        memo = load_memo(Recommendations, self.name, reading.operator, knowledge)
        if memo is not None and memo.at_s == at_s:
            return memo
        before = memo.proposals if memo is not None and memo.at_s < at_s else ((at_s, reading.replicas),)
        oldest_s = at_s - self.sizing.scale_down_stabilization_s
        recent = tuple((at, count) for at, count in before if oldest_s <= at <= at_s and count > proposed)
        return Recommendations(policy=self.name, at_s=at_s, proposals=(*recent, (at_s, min(proposed, limit))))


@dataclass(frozen=True, slots=True)
class HpaCpuPolicy(HpaPolicy):
    """Keeps CPU utilisation near its target (6.7.3)."""

    name: ClassVar[str] = "hpa-cpu"

    sizing: HpaCpuSettings = field(default_factory=HpaCpuSettings)

    def loads(self, readings: Mapping[str, OperatorReading]) -> Mapping[str, TargetRatio]:
        """Compare the CPU utilisation of each operator with the target."""
        return {name: _load(*cpu_share(reading), self.sizing.cpu_target_share) for name, reading in readings.items()}


@dataclass(frozen=True, slots=True)
class HpaVargaPolicy(HpaPolicy):
    """Keeps utilisation near its target, and the lag of bottlenecks from growing (6.7.4, equations 4.4 and 4.5)."""

    name: ClassVar[str] = "hpa-varga"

    sizing: HpaVargaSettings = field(default_factory=HpaVargaSettings)

    def loads(self, readings: Mapping[str, OperatorReading]) -> Mapping[str, TargetRatio]:
        """Compare the utilisation of each operator, and the relative lag change of bottlenecks, with their targets."""
        loads = {name: self._utilisation(reading) for name, reading in readings.items()}
        found = Bottlenecks(self.workflow, readings, self.sizing)
        for name in self._causes_of_lag(found):
            changes = (self._lag_change(lagging) for lagging in self._lags(name, found))
            loads[name] = max((loads[name], *changes), key=lambda load: load.ratio)
        return loads

    def _utilisation(self, reading: OperatorReading) -> TargetRatio:
        settings = self.sizing
        share, what = reading.busy_share, "utilisation"
        if settings.useful_time == "cpu":
            share, what = cpu_share(reading)
        if settings.held_back_counts and is_blocked(reading):
            share = 1.0
        return _load(share, what, settings.utilisation_target_share)

    def _causes_of_lag(self, found: Bottlenecks) -> tuple[str, ...]:
        """Return the operators that cause back pressure, else those with a growing lag; empty if no lag grows."""
        grows = any(lag_grows(reading, self.sizing) for reading in found.readings.values())
        return (found.causing_back_pressure or found.accumulating_lag) if grows else ()

    def _lags(self, name: str, found: Bottlenecks) -> list[list[OperatorReading]]:
        """Return the readings whose lag counts for a bottleneck: its own, and of all sources if it blocks operators."""
        own = [found.readings[name]]
        if name not in found.causing_back_pressure:
            return [own]
        above = self.workflow.ancestors(name)
        sources = [found.readings[each] for each in above if each in found.readings and is_source(each, self.workflow)]
        return [own, sources]

    def _lag_change(self, lagging: list[OperatorReading]) -> TargetRatio:
        growth = lag_growth(lagging, self.sizing)
        change = 0.0 if growth is None else 1 + growth
        return TargetRatio(ratio=change, detail=f"relative lag change {change:.2f} (target 1)")


def _load(share: float, what: str, target: float) -> TargetRatio:
    return TargetRatio(ratio=share / target, detail=f"{what} {100 * share:.0f} % (target {100 * target:.0f} %)")


CPU_POLICY = PolicyInfo(
    name="hpa-cpu",
    summary="the Horizontal Pod Autoscaler for each operator, on CPU",
    source="the Kubernetes documentation; as in Kanis, TU Delft 2023, section 6.7.3",
    build=with_configured_placement(HpaCpuPolicy),
    settings=HpaCpuSettings,
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/hpa.md",
)
VARGA_POLICY = PolicyInfo(
    name="hpa-varga",
    summary="the Horizontal Pod Autoscaler on utilisation and, for bottlenecks, on the growth of the lag",
    source="Varga et al., 2021; as in Kanis, TU Delft 2023, section 6.7.4",
    build=with_configured_placement(HpaVargaPolicy),
    settings=HpaVargaSettings,
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/hpa.md",
)
