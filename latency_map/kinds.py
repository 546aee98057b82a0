"""Choices of callers and options: units, directions, file formats, methods of repair and choice."""

from enum import StrEnum
from typing import TypeVar

from latency_map.errors import LatencyMapError

Choice = TypeVar("Choice", bound=StrEnum)


def member(choices: type[Choice], given: str) -> Choice:
    """Return the member that a caller gave, as a member or as its value.

    Raises
    ------
    LatencyMapError
        There is no such member.
    """
    try:
        return choices(given)
    except ValueError:
        expected = [each.value for each in choices]
        raise LatencyMapError(
            "map-choice-invalid", choice=choices.__name__, expected=expected, got=f"{given!r:.80}"
        ) from None


def member_or_none(choices: type[Choice], given: str | None) -> Choice | None:
    """Return the member that a caller gave; None for None. Raises as `member`."""
    return None if given is None else member(choices, given)


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
    PAIRS = "pairs"
    GML = "gml"
    GRAPHML = "graphml"
    JSON = "json"
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
