"""Settings of `gesscale-2021` and `mdl-nlunaware`."""

from pydantic import Field

from gesscale.fields import Duration, SettingsGroup


class Gesscale2021Settings(SettingsGroup):
    """The paper's Algorithms 1-4 (Arkian et al., ICCCN 2021)."""

    back_pressure_threshold: float = Field(0.5, gt=0, lt=1)
    """Back pressure (BP) above which an operator is overloaded, 0..1. Default: Algorithm 1."""
    headroom_threshold_pct: float = Field(30.0, gt=0, lt=100)
    """Headroom (DT) from which fewer replicas are proposed, per cent. Default: the authors' scripts."""
    headroom_for_each_removal: bool = True
    """Remove a further replica only while those that remain have headroom above the threshold. Default: as printed in
    Algorithm 4. Without it, as many are removed as the input rate allows."""
    recovery_target_s: Duration = 600.0
    """A backlog that drains within this time is no overload. Default: ten periods, as a replica for a shorter time is
    wasted."""
    reading_max_age_s: Duration | None = 7 * 86400.0
    """Maximum age of evidence; null: no limit. Default: a week, the longest rhythm of most loads."""
    reading_half_life_s: Duration | None = 86400.0
    """Age at which evidence counts half; null: age does not matter. Default: a day, so that yesterday still counts."""
