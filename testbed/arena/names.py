"""Names that options and completion need without anything that takes long to import."""

from enum import StrEnum


class Engine(StrEnum):
    """What is simulated."""

    SPARK = "spark"
    FLINK = "flink"


#: The default price of a late minute, replica-minutes.
PRICES = (1.0, 10.0, 100.0)


class Account(StrEnum):
    """What a cost takes for late minutes."""

    MINUTES = "minutes"
    GROWING = "growing"


#: Has at each instant what load and backlog need, in a world in which changes take no time.
IDEAL = "ideal"
#: Follows the cheapest plan of the whole run, in the world of all others.
ORACLE = "oracle"
#: Begins with the replicas that the peak of its load needs; it would otherwise have one for ever.
STATIC = "static"

#: They know all that is to come.
PERFECT_FORESIGHT = frozenset({IDEAL, ORACLE})
#: They are no auto-scalers: they know the whole load beforehand, or its peak. They win nothing.
UNRANKED = PERFECT_FORESIGHT | {STATIC}
