"""The settings that policies share which check whether the lag grows."""

from typing import Literal

from pydantic import Field

from gesscale.fields import MOST_ROWS, Duration
from gesscale.options.sizing import SizingSettings


class LagSettings(SizingSettings):
    """When the lag counts as growing (Kanis 2023, sections 6.7.1 and 6.7.4)."""

    lag_window_s: Duration = Field(
        60.0, description="Time over which the growth of the lag is measured. Default: table 6.4."
    )
    lag_growth_share: float = Field(
        0.01,
        ge=0,
        le=1,
        description="The lag grows where each second adds this share of the throughput to it, 0..1. Default: 1 %, "
        "which separates growth from noise at any load. The 1000 rows/s of table 6.4 are for up to "
        "2.5 million.",
    )
    lag_growth_rows_per_second: float = Field(
        0.0,
        ge=0,
        le=MOST_ROWS,
        description="The lag grows only where each second also adds at least so many rows. Default: any number; "
        "table 6.4 has 1000.",
    )
    lag_growth_by: Literal["slope", "counter"] = Field(
        "slope",
        description="Growth by the slope of the lag, or as if the lag were a counter, which makes every fall a "
        "growth. Default: the slope. The thesis's Dhalion uses Prometheus' `rate()`, which is for "
        "counters.",
    )
