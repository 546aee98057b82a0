"""Settings of `gesscale2`."""

from pydantic import Field

from gesscale.fields import Duration, SettingsGroup


class Gesscale2Settings(SettingsGroup):
    """When a row is late, and what a late minute and a change are worth."""

    slo_s: Duration = Field(
        60.0, description="How old a row may be when it is through. Default: one minute, the period."
    )
    late_minute_price: float = Field(
        10.0,
        gt=0,
        le=1e6,
        description="What a minute with rows older than `slo` is worth, in replica-minutes: 1 for a report that may be "
        "late, 100 for an alarm. Default: 10, a dashboard.",
    )
    change_price: float = Field(
        2.0,
        ge=0,
        le=1e4,
        description="What a change costs on top of its delay, in replica-minutes. Default: 2, so that a gain of less "
        "than two replica-minutes changes nothing; 1 saves 1 % of the bill and orders a third more changes.",
    )
