"""Settings of `daedalus`."""

from typing import Self

from pydantic import Field, model_validator

from gesscale.fields import Duration
from gesscale.wire import MOST_REPLICAS
from testbed.baselines.shared.sizing import SizingSettings

_MOST_BINS = 1000
"""Steps of the history and the forecast together that a memo of 32 KiB holds."""


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
    learn_full_cpu: bool = Field(
        True,
        description="Whether the CPU of the hottest worker while all batches were saturated is the CPU that it "
        "can reach, in place of 100 %. Default: it is. In the paper both are the same; here waiting "
        "uses no CPU.",
    )
    drift_share: float = Field(
        0.2,
        gt=0,
        le=1000,
        description="Where a capacity differs from the remembered one by more than this share of it, all that was "
        "seen before is forgotten. Default: four times the error of 5 % that the paper reports.",
    )
    remember_s: Duration = Field(
        6 * 3600.0,
        description="Capacities that were seen longer ago are forgotten. Default: the length of the paper's runs, "
        "in which none expires.",
    )
    step_s: Duration = Field(
        30.0,
        description="Grid on which the workload is kept and forecast. Default: half a loop. Trials with 10, 30 "
        "and 60 s differed little, and batches are too coarse for the paper's second.",
    )
    history_s: Duration = Field(
        6 * 3600.0,
        description="Length of the workload that is kept to fit models to. Default: the length of the paper's "
        "runs.",
    )
    forecast_s: Duration = Field(
        900.0,
        description="How far forecasts reach; a new number of replicas must be enough for this time. Default: "
        "section 3.3.",
    )
    line_s: Duration = Field(
        300.0,
        description="Length of the newest workload whose slope continues where ARIMA is not trusted. Default: "
        "five loops. In the authors' scripts it has two steps, whose noise 15 min would multiply by "
        "40.",
    )
    wape_fallback: float = Field(
        0.25,
        gt=0,
        le=1000,
        description="WAPE of the previous forecast from which the line takes its place, as a share. Default: section "
        "4.8.",
    )
    wape_bad: float = Field(
        0.1,
        gt=0,
        le=1000,
        description="WAPE from which a loop is bad, as a share. Default: the authors' scripts.",
    )
    bad_limit: int = Field(
        15,
        ge=1,
        le=1000,
        description="After so many bad loops in a row, ARIMA is fitted again. Default: section 3.3.",
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
    downtime_weight: float = Field(
        0.3,
        ge=0,
        le=1,
        description="Weight of a measured downtime against the previous estimate. Default: ours.",
    )
    detection_s: Duration = Field(
        0.001,
        description="Time until a failure is noticed, added to the recovery of the present replicas. Default: next to "
        "none; the paper has none and says so.",
    )
    lag_s: Duration = Field(
        1.0,
        description="No replica goes while the backlog is more than the fewer replicas process in this time. "
        "Default: Algorithm 1, which compares rows with rows/s.",
    )
    anomaly_sigmas: float = Field(
        1.0,
        gt=0,
        le=1000,
        description="Standard deviations of workload minus throughput that are normal; they decide when a "
        "recovery is over. Default: section 3.5.",
    )

    @model_validator(mode="after")
    def _check_bins(self) -> Self:
        bins = (self.history_s + self.forecast_s) / self.step_s
        if bins > _MOST_BINS:
            message = (
                f"expected history and forecast to be {_MOST_BINS} steps together at most, got {bins:.0f}; choose a "
                "longer step or a shorter history"
            )
            raise ValueError(message)
        return self
