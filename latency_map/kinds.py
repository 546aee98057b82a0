"""Choices of callers and options: units, directions, file formats, methods of repair and choice."""

from enum import StrEnum


class DelayKind(StrEnum):
    """Direction of a delay: round trip or one way."""

    RTT = "rtt"
    ONE_WAY = "one-way"


class DelayUnit(StrEnum):
    """The unit of a delay."""

    NS = "ns"
    US = "us"
    MS = "ms"
    S = "s"


class Asymmetry(StrEnum):
    """Treatment of a pair whose two directions differ: refuse it, or take the larger or the mean."""

    REFUSE = "refuse"
    MAX = "max"
    MEAN = "mean"


class MapFormat(StrEnum):
    """Format of a file."""

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
    """Estimate for a pair that is known in neither direction.

    ``PATH``: its shortest path over known pairs, an upper bound if the triangle inequality holds.
    ``COORDINATES``: the distance of its nodes, see `latency_map.quality.coordinates`.
    """

    NONE = "none"
    PATH = "path"
    COORDINATES = "coordinates"


class Symmetrise(StrEnum):
    """Value for a pair whose two directions differ."""

    MAX = "max"
    MEAN = "mean"


class Method(StrEnum):
    """Extent of a search."""

    EXACT = "exact"
    GREEDY = "greedy"
    AUTO = "auto"


class ProbeMethod(StrEnum):
    """Protocol of a probe."""

    AUTO = "auto"
    ICMP = "icmp"
    TCP = "tcp"
