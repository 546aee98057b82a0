"""Names that options and completion need, free of slow imports."""

from enum import StrEnum


class Engine(StrEnum):
    """Simulated stream engine."""

    SPARK = "spark"
    FLINK = "flink"


class ChosenNodes(StrEnum):
    """How policies without delays choose nodes."""

    NEAREST = "nearest"
    RANDOM = "random"


#: Default prices of a late minute, replica-minutes.
PRICES = (1.0, 10.0, 100.0)

#: The middle one, in the plan of `oracle` and in the lower bound of the cost.
LATE_MINUTE_PRICE = 10.0

#: Price of a change in the first account of the league, replica-minutes; that of policy `gesscale`.
CHANGE_PRICE = 2.0


class LatenessMeasure(StrEnum):
    """How late time enters the cost of a run."""

    MINUTES = "minutes"
    AREA = "area"


#: Has at each instant the replicas that load and backlog need, in a world where changes take no time.
IDEAL = "ideal"
#: Follows the cheapest plan of the whole run, in the same world as all other policies.
ORACLE = "oracle"
#: Starts with the replicas that the peak of its load needs, and keeps them.
STATIC = "static"

#: Policies with perfect foresight of the whole load.
PERFECT_FORESIGHT = frozenset({IDEAL, ORACLE})
#: Policies with perfect foresight of the load or its peak. They are references and never count as winners.
UNRANKED = PERFECT_FORESIGHT | {STATIC}
