"""Settings of `drs`."""

from typing import Literal

from pydantic import Field

from gesscale.fields import MOST_REPLICAS, Duration
from gesscale.options.sizing import SizingSettings


class DrsSettings(SizingSettings):
    """DRS (Fu et al., ICDCS 2015, IEEE/ACM ToN 2017)."""

    max_step_up: int = Field(
        40,
        ge=1,
        le=MOST_REPLICAS,
        description="Replicas that one change adds at most. Default: as `autrascale`; the papers have no such "
        "limit.",
    )
    latency_s: Duration | None = Field(
        None,
        description="Tmax: the longest time of a row through the workflow without its wait in a backlog. Default: "
        "1.5 times the trigger intervals along the longest path, so that batches end in time, as "
        "`autrascale`.",
    )
    release_below_share: float = Field(
        0.9,
        gt=0,
        le=1,
        description="Tmin, as a share of Tmax: where a row takes less, replicas go, as many as keep it at that. "
        "Default: ours. The module that its authors published has both bounds, and 0.25 for a start.",
    )
    rates: Literal["useful", "observed"] = Field(
        "useful",
        description="The rate of a replica: rows over its time in batches (true rates), or over all time, which "
        "counts idling as work. AuTraScale+ compares with both. Default: useful time, because mu is "
        "one over a service time.",
    )
    customer: Literal["batch", "row"] = Field(
        "batch",
        description="What queues: the share of a micro-batch that a replica takes, or a row. Default: the share. "
        "For single rows the model has no wait before nine tenths of the load, and rows here come in "
        "batches.",
    )
    correction: bool = Field(
        True,
        description="Whether the predicted time is multiplied by the measured time over its prediction. Default: "
        "yes, as in the authors' module; without it a prediction for rows meets every target.",
    )
    windows: int = Field(
        5,
        ge=1,
        le=100,
        description="Latency and correction are the mean over so many newest readings of the present replicas. "
        "Default: ours, that of the cooldown; with one reading, noise adds and removes replicas in "
        "turn.",
    )
