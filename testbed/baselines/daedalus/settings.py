"""Settings of `daedalus`."""

from typing import Annotated

from pydantic import Field

from gesscale.fields import Duration
from gesscale.wire import MAX_REPLICAS
from testbed.baselines.shared.sizing import SizingSettings


class DaedalusSettings(SizingSettings):
    """Daedalus (Pfister et al., ICPE 2024)."""

    cooldown_s: Duration = 180.0
    """No operator changes for this long after a change of any operator. Default: the grace period of section 3.2."""
    max_step_up: int = Field(1000, ge=1, le=MAX_REPLICAS)
    """Maximum number of replicas that one change adds. Default: practically no limit; the paper has none."""
    loop_s: Duration = 60.0
    """Time between two steps, equal to `monitor.period`. Default: section 3.6."""
    warm_up_s: Duration = 120.0
    """CPU and throughput are ignored for this long after a start or a change. Default: the authors' scripts."""
    forecast_s: Annotated[Duration, Field(le=7200)] = 900.0
    """Forecast horizon; a new number of replicas must be sufficient for this time. Default: section 3.3."""
    recent_rescale_s: Duration = 600.0
    """For this long after a change, replicas are kept if they are sufficient until the next step. Default: Algorithm
    1."""
    recovery_target_s: Duration = 600.0
    """Maximum time from a stop until the job has caught up. Default: as in the Flink runs, section 4.5."""
    checkpoint_s: Duration = 10.0
    """Maximum amount of work that a stop repeats. Default: the checkpoint interval of section 3.4; on Spark set the
    trigger interval."""
    downtime_out_s: Duration = 30.0
    """Downtime of adding replicas, until it is measured. Default: section 3.4."""
    downtime_in_s: Duration = 15.0
    """Downtime of removing replicas, until it is measured. Default: section 3.4."""
