"""By which ways a map may be repaired."""

from enum import StrEnum


class Fill(StrEnum):
    """Where the delay of a pair is taken from that is known in neither direction.

    ``PATH``: its shortest path over known pairs, which is no less than the true delay where triangles hold.
    ``COORDINATES``: the places of its nodes, see `latency_map.quality.coordinates`.
    """

    NONE = "none"
    PATH = "path"
    COORDINATES = "coordinates"


class Symmetrise(StrEnum):
    """What to take where the two directions of a pair differ."""

    MAX = "max"
    MEAN = "mean"
