"""Settings of `hpa-cpu` and `hpa-varga`."""

from typing import Literal

from pydantic import Field

from gesscale.fields import Duration
from gesscale.options.lag import LagSettings
from gesscale.options.sizing import SizingSettings


class HpaSettings(SizingSettings):
    """The settings of both: the core of the Horizontal Pod Autoscaler (Kanis 2023, section 6.7.3)."""

    scale_down_stabilization_s: Duration = Field(
        300.0,
        description="The highest proposal within this time counts, so that replicas go late. Default: Kanis, "
        "tables 6.3 and 6.4, as Kubernetes.",
    )
    tolerance_share: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="Nothing changes while the figure is this near its target, as a share of it. Default: none, "
        "as in the thesis; Kubernetes has 0.1.",
    )


class HpaCpuSettings(HpaSettings):
    """HPA on CPU utilisation (Kanis 2023, table 6.3)."""

    cpu_target_share: float = Field(
        0.7,
        ge=0.001,
        le=1,
        description="Target of the CPU utilisation, 0..1. Default: table 6.3. A target that the CPU never exceeds "
        "never adds a replica.",
    )


class HpaVargaSettings(HpaSettings, LagSettings):
    """HPA on utilisation and relative lag change (Kanis 2023, table 6.4)."""

    utilisation_target_share: float = Field(
        0.7,
        ge=0.001,
        le=1,
        description="Target of the share of time at work, 0..1. Default: table 6.4; 0.6 did better on waves.",
    )
    useful_time: Literal["busy", "cpu"] = Field(
        "busy",
        description="What utilisation is: the share of time in batches, or CPU use, which leaves out waiting for "
        "other replicas and the network. Default: time in batches, which ends at 1 and so shows every "
        "overload.",
    )
    lag_change_target: float = Field(
        1.0,
        ge=0.001,
        le=1000,
        description="Target of the relative lag change; below 1 the lag must shrink. Default: table 6.4.",
    )
    lag_growth_first: bool = Field(
        True,
        description="Whether the policy looks for a bottleneck only while the lag grows. Default: as Kanis 6.7.4 "
        "says; the thesis's code asks that of sources alone.",
    )
    held_back_counts: bool = Field(
        False,
        description="Whether an operator that its consumers hold back counts as always at work, as by Flink's "
        "idle time. Default: no, because it needs no replica; on Spark no operator is held back.",
    )
