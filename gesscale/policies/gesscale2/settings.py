"""Settings of `gesscale2`."""

from pydantic import Field

from gesscale.fields import Duration, SettingsGroup


class Gesscale2Settings(SettingsGroup):
    """What a late minute is worth, and when a row is late."""

    slo_s: Duration = Field(
        60.0,
        description="How old a row may be when it is through. Default: one minute.",
    )
    late_minute_price: float = Field(
        10.0,
        gt=0,
        le=1e6,
        description="What a minute with rows older than `slo` is worth, in replica-minutes. Default: 10.",
    )
    change_price: float = Field(
        0.5,
        ge=0,
        le=1e4,
        description="What a change costs beside the gap that it causes, in replica-minutes. It keeps the policy from "
        "changing to and fro for next to nothing.",
    )
