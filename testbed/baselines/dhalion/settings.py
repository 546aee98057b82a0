"""Settings of `dhalion`."""

from pydantic import Field

from gesscale.fields import MOST_ROWS, Duration
from gesscale.options.lag import LagSettings


class DhalionSettings(LagSettings):
    """Dhalion on back-pressure time (Kanis 2023, section 6.7.1)."""

    scale_down_factor: float = Field(
        0.8,
        gt=0,
        lt=1,
        description="Factor on the replicas of an operator without lag. Default: Kanis 4.2; table 6.1 calls it 1.2.",
    )
    input_fill_close_to_zero_share: float = Field(
        0.2,
        ge=0,
        le=1,
        description="An operator has no lag while its input is filled to less than this, 0..1. Default: table 6.1.",
    )
    lag_close_to_zero_s: Duration = Field(
        1.0,
        description="A source has no lag while no more rows wait than are offered in this time. Default: too few "
        "to fill a batch. The 10,000 rows of table 6.1 come within 4 ms at the thesis's peak.",
    )
    lag_close_to_zero_rows: float = Field(
        0.0,
        ge=0,
        le=MOST_ROWS,
        description="A source also has no lag while no more rows than these wait, however few are offered. "
        "Default: none; table 6.1 has 10,000.",
    )
    single: bool = Field(
        False,
        description="Whether only the bottleneck farthest upstream gets replicas in one step. Default: all do, as in "
        "the thesis's code; its text has one.",
    )
