"""Settings of `daedalus`."""

from typing import Annotated

from pydantic import Field

from gesscale.fields import Duration
from gesscale.wire import MOST_REPLICAS
from testbed.baselines.shared.sizing import SizingSettings


class DaedalusSettings(SizingSettings):
    """Daedalus (Pfister et al., ICPE 2024)."""

    cooldown_s: Duration = Field(
        180.0,
        description="For this long after a change of any operator, nothing changes. Default: the three minutes of "
        "grace of section 3.2.",
    )
    max_step_up: int = Field(
        1000,
        ge=1,
        le=MOST_REPLICAS,
        description="Replicas that one change adds at most. Default: practically no limit; the paper has none.",
    )
    loop_s: Duration = Field(
        60.0, description="Time between two steps, as `monitor.period` has it. Default: section 3.6."
    )
    warm_up_s: Duration = Field(
        120.0,
        description="For this long after a start or a change, CPU and throughput do not count. Default: the "
        "authors' scripts.",
    )
    forecast_s: Annotated[Duration, Field(le=7200)] = Field(
        900.0,
        description="How far forecasts reach; a new number of replicas must be enough for this time. Default: "
        "section 3.3.",
    )
    recent_rescale_s: Duration = Field(
        600.0,
        description="For this long after a change, replicas stay that are enough until the next step. Default: "
        "Algorithm 1.",
    )
    recovery_target_s: Duration = Field(
        600.0,
        description="The longest time from a stop until the job has caught up. Default: that of the Flink runs, "
        "section 4.5.",
    )
    checkpoint_s: Duration = Field(
        10.0,
        description="Work that is repeated after a stop, at worst. Default: the checkpoint interval of section "
        "3.4; on Spark set the trigger interval.",
    )
    downtime_out_s: Duration = Field(
        30.0,
        description="How long adding replicas stops the job, before a measurement. Default: section 3.4.",
    )
    downtime_in_s: Duration = Field(
        15.0,
        description="How long removing replicas stops the job, before a measurement. Default: section 3.4.",
    )
