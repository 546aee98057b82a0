"""What a delay may be: its unit, its direction, and what counts where both directions differ."""

from enum import StrEnum


class DelayKind(StrEnum):
    """Which way a delay counts."""

    RTT = "rtt"
    ONE_WAY = "one-way"


class DelayUnit(StrEnum):
    """The unit of a delay."""

    US = "us"
    MS = "ms"
    S = "s"


class Asymmetry(StrEnum):
    """What to do with a pair whose two directions differ: refuse it, or take the larger or the mean."""

    REFUSE = "refuse"
    MAX = "max"
    MEAN = "mean"
