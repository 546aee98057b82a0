"""Settings of `gesscale`."""

from typing import Literal

from pydantic import Field

from gesscale.fields import SettingsGroup

#: Shortest objective, in trigger intervals: a row waits up to one for its batch, and as long in it if the replicas just
#: carry the load. A shorter one counts rows as late that are not, or that more replicas hardly help.
OBJECTIVE_INTERVALS = 3.0


class GesscaleSettings(SettingsGroup):
    """The law, and the prices of late minutes and changes; the objective is the workflow's."""

    law: Literal["auto", "eq1", "batch-time"] = Field(
        "auto",
        description="Law of the performance model: Eq. 1 of the paper, the law of batch times, or the one with the "
        "lower held-out error. Default: the latter; both are always fitted and reported.",
    )
    late_minute_price: float = Field(
        10.0,
        gt=0,
        le=1e6,
        description="Price of a minute with rows older than the objective, in replica-minutes: 1 for a report that may "
        "be late, 100 for an alarm. Default: 10, a dashboard. Replicas are kept for the quantile p / (1 + p) of the "
        "load.",
    )
    change_price: float = Field(
        2.0,
        ge=0,
        le=1e4,
        description="Price of a change in addition to its downtime, in replica-minutes: superfluous replicas stay "
        "until they have cost as much. Default: 2; 4 orders fewer changes and keeps replicas longer.",
    )
