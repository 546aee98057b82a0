"""HPA, the Horizontal Pod Autoscaler for single operators: on CPU, and on Varga's two figures (Kanis 2023, 6.7.3-4).

Each operator gets as many replicas as bring a figure to its target. More come at once. Fewer come only down to the
highest proposal within a window.
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
    ON_NODES,
    SizeProposal,
    SizingPolicy,
    SizingSettings,
    ceiling,
    with_configured_placement,
)


class HpaSettings(SizingSettings):
    """The settings of both: the core of the Horizontal Pod Autoscaler (Kanis 2023, section 6.7.3)."""

    scale_down_stabilization_s: Duration = 300.0
    """The highest proposal within this time counts, so that replicas go late. Default: Kanis, tables 6.3 and 6.4, as
    Kubernetes."""


class HpaCpuSettings(HpaSettings):
    """HPA on CPU utilisation (Kanis 2023, table 6.3)."""

    cpu_target_share: float = Field(0.7, ge=0.001, le=1)
    """Target of the CPU utilisation, 0..1. Default: table 6.3. A target that the CPU never exceeds never adds a
    replica."""


class HpaVargaSettings(HpaSettings, LagSettings):
    """HPA on utilisation and relative lag change (Kanis 2023, table 6.4)."""

    utilisation_target_share: float = Field(0.7, ge=0.001, le=1)
    """Target of the share of time at work, 0..1. Default: table 6.4; 0.6 did better on waves."""
    useful_time: Literal["busy", "cpu"] = "busy"
    """What utilisation is: the share of time in batches, or CPU use, which leaves out waiting for other replicas and
    the network. Default: time in batches, which ends at 1 and so shows every overload."""
    held_back_counts: bool = False
    """Whether an operator that its consumers hold back counts as always at work, as by Flink's idle time. Default:
    no, because it needs no replica; on Spark no operator is held back."""


class Recommendations(Memo):
    """The latest proposals."""

    #: When and how many replicas, oldest first, ever fewer: a proposal that was followed by as many or more
    #: cannot count again. So there are no more than ``max_replicas``.
    asked: tuple[tuple[float, int], ...] = Field(min_length=1)

    @property
    def most(self) -> int:
        """The highest proposal."""
        return max(count for _, count in self.asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A figure against its target."""

    #: Figure over target; not finite where it is unknown.
    ratio: float
    #: Both, for people.
    detail: str


@dataclass(frozen=True, slots=True)
class HpaPolicy(SizingPolicy):
    """The core: from how loaded operators are to how many replicas they should have."""

    @property
    @abstractmethod
    def sizing(self) -> HpaSettings:
        """The policy's settings."""

    @abstractmethod
    def loads(self, readings: Mapping[str, OperatorReading]) -> Mapping[str, Load]:
        """Say of each operator how loaded it is."""

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Bring each operator's figure to its target (equation 4.3); see `SizingPolicy`."""
        return {
            name: self._proposal(readings[name], load, observation.at_s, knowledge)
            for name, load in self.loads(readings).items()
        }

    def _proposal(self, reading: OperatorReading, load: Load, at_s: float, knowledge: Knowledge) -> SizeProposal:
        if not math.isfinite(load.ratio):
            return SizeProposal(replicas=None, detail=f"{load.detail} is no figure", reason=Reason.METRICS_MISSING)
        present, settings = reading.replicas, self.sizing
        asked = max(1, ceiling(present * load.ratio))
        memo = self._noted(reading, asked, at_s, knowledge)
        detail, kept = f"{load.detail} asks for {asked} of {present}", memo.model_dump_json()
        if asked >= present or memo.most == asked:
            return SizeProposal(replicas=asked, detail=detail, memo=kept)
        detail += f", but {memo.most} were asked for within {format_duration(settings.scale_down_stabilization_s)}"
        wanted = memo.most if memo.most < present else None
        return SizeProposal(replicas=wanted, detail=detail, reason=Reason.COOLING_DOWN, memo=kept)

    def _noted(self, reading: OperatorReading, asked: int, at_s: float, knowledge: Knowledge) -> Recommendations:
        """Return the recommendations with a new one; the first of all stays next to what was found running."""
        limit = self.workflow.operators[reading.operator].max_replicas
        memo = load_memo(Recommendations, self.name, reading.operator, knowledge)
        if memo is not None and memo.at_s == at_s:
            return memo
        before = memo.asked if memo is not None and memo.at_s < at_s else ((at_s, reading.replicas),)
        oldest_s = at_s - self.sizing.scale_down_stabilization_s
        kept = tuple((when, count) for when, count in before if oldest_s <= when <= at_s and count > asked)
        return Recommendations(policy=self.name, at_s=at_s, asked=(*kept, (at_s, min(asked, limit))))


@dataclass(frozen=True, slots=True)
class HpaCpuPolicy(HpaPolicy):
    """CPU utilisation near its target (6.7.3)."""

    name: ClassVar[str] = "hpa-cpu"

    sizing: HpaCpuSettings = field(default_factory=HpaCpuSettings)

    def loads(self, readings: Mapping[str, OperatorReading]) -> Mapping[str, Load]:
        """Compare each operator's CPU utilisation with the target."""
        return {name: _load(*cpu_share(reading), self.sizing.cpu_target_share) for name, reading in readings.items()}


@dataclass(frozen=True, slots=True)
class HpaVargaPolicy(HpaPolicy):
    """Utilisation near its target and, at a bottleneck, a lag that does not grow (6.7.4, equations 4.4 and 4.5)."""

    name: ClassVar[str] = "hpa-varga"

    sizing: HpaVargaSettings = field(default_factory=HpaVargaSettings)

    def loads(self, readings: Mapping[str, OperatorReading]) -> Mapping[str, Load]:
        """Compare each operator's utilisation with its target, and a bottleneck's relative lag change with its own."""
        loads = {name: self._utilisation(reading) for name, reading in readings.items()}
        found = Bottlenecks(self.workflow, readings, self.options.back_pressure_threshold, self.sizing)
        for name in self._to_answer_for_the_lag(found):
            changes = (self._lag_change(waiting) for waiting in self._lags(name, found))
            loads[name] = max((loads[name], *changes), key=lambda load: load.ratio)
        return loads

    def _utilisation(self, reading: OperatorReading) -> Load:
        settings = self.sizing
        share, what = reading.busy_share, "utilisation"
        if settings.useful_time == "cpu":
            share, what = cpu_share(reading)
        if settings.held_back_counts and is_blocked(reading):
            share = 1.0
        return _load(share, what, settings.utilisation_target_share)

    def _to_answer_for_the_lag(self, found: Bottlenecks) -> tuple[str, ...]:
        """Return who holds others back; where no operator does, before whom rows pile up; none while no lag grows."""
        grows = any(lag_grows(reading, self.sizing) for reading in found.readings.values())
        return (found.pressing or found.overrun) if grows else ()

    def _lags(self, name: str, found: Bottlenecks) -> list[list[OperatorReading]]:
        """Return whose lags count for a bottleneck: its own; those of all sources if it holds back operators."""
        own = [found.readings[name]]
        if name not in found.pressing:
            return [own]
        above = self.workflow.ancestors(name)
        sources = [found.readings[each] for each in above if each in found.readings and is_source(each, self.workflow)]
        return [own, sources]

    def _lag_change(self, waiting: list[OperatorReading]) -> Load:
        growth = lag_growth(waiting, self.sizing)
        change = 0.0 if growth is None else 1 + growth
        return Load(ratio=change, detail=f"relative lag change {change:.2f} (target 1)")


def _load(share: float, what: str, target: float) -> Load:
    return Load(ratio=share / target, detail=f"{what} {100 * share:.0f} % (target {100 * target:.0f} %)")


CPU_POLICY = PolicyInfo(
    name="hpa-cpu",
    summary="the Horizontal Pod Autoscaler for each operator, on its CPU",
    source="the Kubernetes documentation; as in Kanis, TU Delft 2023, section 6.7.3",
    build=with_configured_placement(HpaCpuPolicy),
    settings=HpaCpuSettings,
    accepts=ON_NODES,
    guide="reference/policies/hpa.md",
)
VARGA_POLICY = PolicyInfo(
    name="hpa-varga",
    summary="the same on utilisation and, at a bottleneck, on how fast the lag grows",
    source="Varga et al., 2021; as in Kanis, TU Delft 2023, section 6.7.4",
    build=with_configured_placement(HpaVargaPolicy),
    settings=HpaVargaSettings,
    accepts=("back_pressure_threshold", *ON_NODES),
    guide="reference/policies/hpa.md",
)
