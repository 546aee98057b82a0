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
        description="Replicas that one change adds at most. Default: as `autrascale`; the papers know no such limit.",
    )
    latency_s: Duration | None = Field(
        None,
        description="Tmax: what a row may take through the workflow without its wait in a backlog. Default: 1.5 "
        "times the trigger intervals along the longest path, so that batches end in time, as `autrascale`.",
    )
    release_below_share: float = Field(
        0.9,
        gt=0,
        le=1,
        description="Tmin, as a share of Tmax: replicas are given up where a row takes less, as many as keep it at "
        "that. Default: ours; the module that its authors published has both bounds, and 0.25 for a start.",
    )
    rates: Literal["useful", "observed"] = Field(
        "useful",
        description="What a replica can do: rows over its time in batches (true rates), or over all time, which takes "
        "idling for work. AuTraScale+ compares with both. Default: useful time, for mu is one over a service time.",
    )
    customer: Literal["batch", "row"] = Field(
        "batch",
        description="What queues: the share of a micro-batch that a replica takes, or a row. Default: the share; for "
        "single rows the model knows no wait before nine tenths of the load, and rows here come in batches.",
    )
    correction: bool = Field(
        True,
        description="Whether the predicted time is multiplied by what was measured over what was predicted for it. "
        "Default: yes, as in the authors' module; without it a prediction for rows meets every target.",
    )
    windows: int = Field(
        5,
        ge=1,
        le=100,
        description="The newest readings of the present replicas over which latency and correction are averaged. "
        "Default: ours, the cool-down's; on one alone noise adds and removes replicas in turn.",
    )
