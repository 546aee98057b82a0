"""Settings of group ``analyze`` that several policies share."""

from typing import ClassVar, Literal

from pydantic import Field

from gesscale.constraints import Ascending, Constraint
from gesscale.fields import MAX_EXACT_INTEGER, Duration, SettingsGroup


class PolicyOptions(SettingsGroup):
    """Settings that several policies share."""

    CONSTRAINTS: ClassVar[tuple[Constraint, ...]] = (Ascending("cpu_low_pct", "cpu_high_pct", strict=True),)

    stabilization_window_s: Duration | None = None
    """Time after a change in which an operator is not evaluated again. Default: only until the change has settled; the
    scripts of the paper's authors wait 300 s."""
    cpu_high_pct: float = Field(90.0, gt=0, le=100)
    """CPU use above which THR adds a replica, per cent. Default: paper V."""
    cpu_low_pct: float = Field(50.0, ge=0, lt=100)
    """CPU use below which THR removes a replica, per cent. Default: paper V."""
    seed: int = Field(0, ge=0, le=MAX_EXACT_INTEGER)
    """Seed of policies that choose at random. Default: fixed, so that runs repeat."""
    node_choice: Literal["random", "nearest"] = "random"
    """How policies without delays choose nodes (all but gesscale, mdl and thr). Default: random, like a scheduler that
    does not know the delays."""

    @property
    def cpu_high_share(self) -> float:
        """The upper threshold of THR, 0..1."""
        return self.cpu_high_pct / 100

    @property
    def cpu_low_share(self) -> float:
        """The lower threshold of THR, 0..1."""
        return self.cpu_low_pct / 100
