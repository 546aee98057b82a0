"""The Horizontal Pod Autoscaler of Kubernetes (autoscaling/v2) with its defaults, on the CPU of each operator.

It needs measured CPU. Without it there is no decision, as in a cluster without metrics.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import Field

from gesscale.model.observation import OperatorReading
from gesscale.policies.registry import PolicyInfo
from testbed.baselines.shared.hpa import BehaviorSettings, HpaPolicy, TargetRatio
from testbed.baselines.shared.sizing import PLACEMENT_SETTINGS, with_configured_placement


class HpaV2Settings(BehaviorSettings):
    """A HorizontalPodAutoscaler on CPU."""

    cpu_target_share: float = Field(0.8, ge=0.001, le=1)
    """Target of the CPU utilisation, 0..1. Default: Kubernetes' for a resource without metrics, 80 %."""


@dataclass(frozen=True, slots=True)
class HpaV2Policy(HpaPolicy):
    """Keeps the CPU utilisation of each operator near its target."""

    name: ClassVar[str] = "hpa-v2"

    sizing: HpaV2Settings = field(default_factory=HpaV2Settings)

    @property
    def behavior(self) -> BehaviorSettings:
        """Tolerance, windows and limits."""
        return self.sizing

    def loads(self, readings: Mapping[str, OperatorReading]) -> Mapping[str, TargetRatio]:
        """Compare the CPU utilisation of each operator with the target."""
        return {name: self._load(reading.cpu_share) for name, reading in readings.items()}

    def _load(self, share: float | None) -> TargetRatio:
        if share is None:
            return TargetRatio(ratio=math.nan, detail="CPU, which is not measured,")
        return TargetRatio.of_share(share, "CPU", self.sizing.cpu_target_share)


POLICY = PolicyInfo(
    name="hpa-v2",
    summary="the Horizontal Pod Autoscaler with the defaults of autoscaling/v2, on CPU",
    source="the Kubernetes documentation and pkg/controller/podautoscaler",
    build=with_configured_placement(HpaV2Policy),
    settings=HpaV2Settings,
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/hpa-v2.md",
)
