"""What callers and options choose from: units, directions, forms of files, ways to repair and to choose."""

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


class MapFormat(StrEnum):
    """The forms that a file can have."""

    DOCUMENT = "document"
    MATRIX = "matrix"
    BARE_MATRIX = "bare-matrix"
    EDGES = "edges"
    PINGS = "pings"
    GML = "gml"
    GRAPHML = "graphml"
    GOLDPINGER = "goldpinger"
    PING = "ping"
    FPING = "fping"


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


class Method(StrEnum):
    """How far the search goes."""

    EXACT = "exact"
    GREEDY = "greedy"
    AUTO = "auto"


class ProbeMethod(StrEnum):
    """How to measure a round trip."""

    AUTO = "auto"
    ICMP = "icmp"
    TCP = "tcp"
