"""The settings that policies share which propose a number of replicas."""

from pydantic import Field

from gesscale.fields import MOST_REPLICAS, Duration, SettingsGroup


class SizingSettings(SettingsGroup):
    """What the policies of Kanis's comparison share (2023, section 6.6.4)."""

    cooldown_s: Duration = Field(
        300.0,
        description="For this long after a change of any operator, nothing changes. Default: Kanis 7.3.3.",
    )
    samples_during_cooldown: bool = Field(
        True,
        description="Whether figures from the cooldown count later. Default: they do; in the thesis the scaler "
        "slept.",
    )
    over_provision: float = Field(
        1.0, ge=1, le=10, description="Factor on the replicas of each operator. Default: none (Kanis 6.6.4)."
    )
    max_step_up: int = Field(
        15, ge=1, le=MOST_REPLICAS, description="Replicas that one change adds at most. Default: Kanis 6.6.4."
    )
    max_step_down: int | None = Field(
        None,
        ge=1,
        le=MOST_REPLICAS,
        description="Replicas that one change removes at most. Default: any number (Kanis 6.6.4).",
    )
    total_replicas: int | None = Field(
        None,
        ge=1,
        le=64 * MOST_REPLICAS,
        description="Replicas of all operators together, shared in proportion. Default: any number; the nodes "
        "limit each operator. Kanis 6.6.4 has 80.",
    )
