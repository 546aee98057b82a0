"""HPA, the Horizontal Pod Autoscaler for single operators: on CPU, and on Varga's two metrics (Kanis 2023, 6.7.3-4).

Each operator gets the number of replicas that brings a metric to its target, without tolerance. After a change nothing
changes for five minutes, in both directions. The autoscaler of Kubernetes is `hpa_v2`.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar, Literal

from pydantic import Field

from gesscale.fields import MAX_ROWS, Duration
from gesscale.model.observation import OperatorReading
from gesscale.policies.registry import PolicyInfo
from gesscale.wire import MAX_REPLICAS
from testbed.baselines.shared.bottlenecks import Bottlenecks, LagSettings, is_blocked, lag_grows, lag_growth
from testbed.baselines.shared.hpa import BehaviorSettings, HpaPolicy, TargetRatio
from testbed.baselines.shared.signals import cpu_share, is_source
from testbed.baselines.shared.sizing import PLACEMENT_SETTINGS, SizingSettings, with_configured_placement
from testbed.baselines.shared.true_rates import UsefulTime


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
    useful_time: UsefulTime = "busy"
    """Utilisation: the share of time in batches, or CPU usage, which excludes waiting for other replicas and the
    network. Default: time in batches, which reaches 1 at every overload."""
    lag_gate: Literal["rate", "size"] = "rate"
    """Lag change counts while a lag grows, or while the lag is at least `lag_gate_rows`. Default: the former, as in
    Kanis 6.7.4; Varga et al. have the latter (Kanis 4.5)."""
    lag_gate_rows: float = Field(50_000.0, ge=0, le=MAX_ROWS)
    """Total lag from which its change counts, with `lag_gate: size`. Default: an older configuration of Kanis's
    framework; the thesis has no number."""
    held_back_counts: bool = False
    """Count an operator under back pressure as fully busy, as Flink's idle time does. Default: no, because it needs
    no replica; on Spark no operator is under back pressure."""


@dataclass(frozen=True, slots=True)
class KanisHpaPolicy(HpaPolicy):
    """The core of the HPA as Kanis applies it: without tolerance, without limits on the rate (equation 4.3)."""

    @property
    @abstractmethod
    def sizing(self) -> HpaSettings:
        """Settings of the policy."""

    @property
    def behavior(self) -> BehaviorSettings:
        """The window of scale-in."""
        return _behavior(self.sizing.scale_down_stabilization_s)


@cache
def _behavior(window_s: float) -> BehaviorSettings:
    return BehaviorSettings.model_validate(
        {"tolerance_share": 0, "scale_down_stabilization": window_s, "scale_up_pods": MAX_REPLICAS}
    )


@dataclass(frozen=True, slots=True)
class HpaCpuPolicy(KanisHpaPolicy):
    """Keeps CPU utilisation near its target (6.7.3)."""

    name: ClassVar[str] = "hpa-cpu"

    sizing: HpaCpuSettings = field(default_factory=HpaCpuSettings)

    def loads(self, readings: Mapping[str, OperatorReading]) -> Mapping[str, TargetRatio]:
        """Compare the CPU utilisation of each operator with the target."""
        return {
            name: TargetRatio.of_share(cpu_share(reading), "CPU", self.sizing.cpu_target_share)
            for name, reading in readings.items()
        }


@dataclass(frozen=True, slots=True)
class HpaVargaPolicy(KanisHpaPolicy):
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
            share, what = cpu_share(reading), "CPU"
        if settings.held_back_counts and is_blocked(reading):
            share = 1.0
        return TargetRatio.of_share(share, what, settings.utilisation_target_share)

    def _causes_of_lag(self, found: Bottlenecks) -> tuple[str, ...]:
        """Return the operators that cause back pressure, else those with a lag; empty if the gate is closed."""
        if self.sizing.lag_gate == "size":
            sources = (name for name in found.readings if is_source(name, self.workflow))
            lag_rows = sum(found.readings[name].backlog_rows or 0.0 for name in {*sources, *found.lagging})
            return (found.causing_back_pressure or found.lagging) if lag_rows >= self.sizing.lag_gate_rows else ()
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


CPU_POLICY = PolicyInfo(
    name="hpa-cpu",
    summary="the Horizontal Pod Autoscaler of Kanis's thesis, on CPU: no tolerance, frozen after each change",
    source="Kanis, TU Delft 2023, section 6.7.3; the autoscaler of Kubernetes is hpa-v2",
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
