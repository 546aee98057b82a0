"""Settings of `daedalus`."""

from typing import Annotated

from pydantic import Field

from gesscale.fields import Duration
from gesscale.wire import MAX_REPLICAS
from testbed.baselines.shared.sizing import SizingSettings


class DaedalusSettings(SizingSettings):
    """Daedalus (Pfister et al., ICPE 2024)."""

    cooldown_s: Duration = 180.0
    """For this long after a change of any operator, nothing changes. Default: the three minutes of grace of section
    3.2."""
    max_step_up: int = Field(1000, ge=1, le=MAX_REPLICAS)
    """Replicas that one change adds at most. Default: practically no limit; the paper has none."""
    loop_s: Duration = 60.0
    """Time between two steps, as `monitor.period` has it. Default: section 3.6."""
    warm_up_s: Duration = 120.0
    """For this long after a start or a change, CPU and throughput do not count. Default: the authors' scripts."""
    forecast_s: Annotated[Duration, Field(le=7200)] = 900.0
    """How far forecasts reach; a new number of replicas must be enough for this time. Default: section 3.3."""
    recent_rescale_s: Duration = 600.0
    """For this long after a change, replicas stay that are enough until the next step. Default: Algorithm 1."""
    recovery_target_s: Duration = 600.0
    """The longest time from a stop until the job has caught up. Default: that of the Flink runs, section 4.5."""
    checkpoint_s: Duration = 10.0
    """Work that is repeated after a stop, at worst. Default: the checkpoint interval of section 3.4; on Spark set the
    trigger interval."""
    downtime_out_s: Duration = 30.0
    """How long adding replicas stops the job, before a measurement. Default: section 3.4."""
    downtime_in_s: Duration = 15.0
    """How long removing replicas stops the job, before a measurement. Default: section 3.4."""
