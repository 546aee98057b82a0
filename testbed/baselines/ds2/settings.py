"""Settings of `ds2`."""

from typing import Literal

from pydantic import Field

from gesscale.fields import Duration
from gesscale.options.sizing import SizingSettings


class Ds2Settings(SizingSettings):
    """DS2 (Kalavri et al., OSDI 2018) as Kanis ran it (2023, section 6.7.2)."""

    over_provision: float = Field(
        1.2,
        ge=1,
        le=10,
        description="Factor on the replicas of each operator. Default: Kanis 6.7.2; the sizes alone never drain a "
        "backlog.",
    )
    useful_time: Literal["busy", "cpu"] = Field(
        "busy",
        description="What useful time is: the share of time in batches, or CPU use, which leaves waiting out. "
        "Default: busy time, as in Kanis 6.7.2.",
    )
    max_busy_share: float = Field(
        1.0,
        ge=0.001,
        le=1,
        description="Useful time of an operator at its limit, 0..1; true rates are those at this share. Default: "
        "all of it, as in Kanis's tables. In his section 8.3, back pressure keeps it below.",
    )
    drain_horizon_s: Duration | None = Field(
        None,
        description="Time in which a backlog must drain while input comes. Default: none, backlogs do not count; "
        "the variant in Kanis's framework has 120 s.",
    )
    activation_windows: int = Field(
        1,
        ge=1,
        le=100,
        description="The policy acts on the median of so many decisions since the last change. Default: the "
        "newest alone.",
    )
    warm_up_s: Duration | None = Field(
        None,
        description="For this long after a change of any operator, nothing is decided. Default: none, the "
        "cooldown is longer.",
    )
