"""The policies that know the load, by name."""

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
