"""Names that options and completion need without anything that takes long to import."""

from enum import StrEnum


class Engine(StrEnum):
    """What is simulated."""

    SPARK = "spark"
    FLINK = "flink"


PRICES = (1.0, 10.0, 100.0)
"""The default price of a late minute, replica-minutes."""


class Account(StrEnum):
    """What a bill takes for late minutes."""

    MINUTES = "minutes"
    GROWING = "growing"


IDEAL = "ideal"
"""Has at each instant what load and backlog need, in a world in which changes take no time."""
FORESIGHT = "foresight"
"""Follows the cheapest plan of the whole run, in the world of all others."""
STATIC = "static"
"""Begins with the replicas that the peak of its load needs; it would otherwise have one for ever."""

ORACLES = frozenset({IDEAL, FORESIGHT})
"""They know all that is to come."""
KNOW_THE_LOAD = ORACLES | {STATIC}
"""They are no auto-scalers: they know the whole load beforehand, or its peak. They win nothing."""
