"""KEDA's Kafka scaler: a replica for each `lagThreshold` rows of lag, at the pace of a HorizontalPodAutoscaler.

Source: kedacore/keda, pkg/scalers/kafka_scaler.go. Where nothing else is set, its HorizontalPodAutoscaler has the
defaults of Kubernetes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import Field

from gesscale.fields import MAX_ROWS
from gesscale.model.observation import OperatorReading
from gesscale.policies.registry import PolicyInfo
from testbed.baselines.shared.hpa import BehaviorSettings, HpaPolicy, TargetRatio
from testbed.baselines.shared.sizing import PLACEMENT_SETTINGS, with_configured_placement


class KedaKafkaSettings(BehaviorSettings):
    """A ScaledObject with a Kafka trigger."""

    lag_threshold_rows: float = Field(10.0, ge=1, le=MAX_ROWS)
    """Rows of lag for each replica. Default: KEDA, for queues of slow jobs. For a stream, set about the rows that a
    replica processes in the time that they may wait."""


@dataclass(frozen=True, slots=True)
class KedaKafkaPolicy(HpaPolicy):
    """Keeps the lag of each operator near a number of rows for each replica."""

    name: ClassVar[str] = "keda-kafka"

    sizing: KedaKafkaSettings = field(default_factory=KedaKafkaSettings)

    @property
    def behavior(self) -> BehaviorSettings:
        """Tolerance, windows and limits."""
        return self.sizing

    def loads(self, readings: Mapping[str, OperatorReading]) -> Mapping[str, TargetRatio]:
        """Compare the lag of each operator with the threshold of its replicas."""
        return {name: self._load(reading) for name, reading in readings.items()}

    def _load(self, reading: OperatorReading) -> TargetRatio:
        lag, threshold = reading.backlog_rows, self.sizing.lag_threshold_rows
        if lag is None:
            return TargetRatio(ratio=math.nan, detail="lag, which is unknown,")
        consumers = (
            lag / threshold if reading.useful_replicas is None else min(lag / threshold, reading.useful_replicas)
        )
        detail = f"lag {lag:.0f} rows ({threshold:.0f} for each replica)"
        return TargetRatio(ratio=max(0.0, consumers) / reading.replicas, detail=detail)


POLICY = PolicyInfo(
    name="keda-kafka",
    summary="KEDA's Kafka scaler: a replica for each threshold of lag",
    source="the KEDA documentation and kedacore/keda, pkg/scalers/kafka_scaler.go",
    build=with_configured_placement(KedaKafkaPolicy),
    settings=KedaKafkaSettings,
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/keda-kafka.md",
)
