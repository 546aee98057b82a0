"""Limits on the size of a map that is read, and so on the memory that it takes.

A map of n nodes needs the arrays that hold it: 9 n² bytes for its `Survey` (round trips, and marks of the estimated
ones) and 8 n² for its `LatencyMap`. That is 17 MB for 1,000 nodes and 425 MB for 5,000. To fill missing pairs, the
known ones are also held as a graph of up to 52 n² bytes. Readers count nodes as they read, and hold the whole text.
"""

from dataclasses import dataclass

from gesscale.common.errors import InvalidValueError, Problem
from latency_map.names import MAX_NODES

#: Largest number of nodes of a map, if the user does not set it.
DEFAULT_NODES = 1000

_BYTES_PER_PAIR = 500
_GRAPH_BYTES_PER_NODE = 1024
_PAGE_BYTES_PER_NODE = 1536
_BASE_BYTES = 1 << 16
_CLAIMS_PER_PAIR = 4
_MORE_CLAIMS = 1024
_MAX_CLAIMS = 200_000
_AGENTS_PER_NODE = 4
_MORE_AGENTS = 64
#: Largest size of the text of a map in bytes, decompressed, for any number of nodes.
MAX_TEXT_BYTES = 256 << 20
_MAX_GRAPH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MapLimits:
    """Limits on one map that is read, all derived from the number of nodes.

    Raises
    ------
    InvalidValueError
        The number of nodes is out of range.
    """

    #: Largest number of nodes, 1 to `MAX_NODES`.
    nodes: int = DEFAULT_NODES
    #: Name of the option or setting of this limit, for messages.
    setting: str = "gesscale latency-map --max-nodes"

    def __post_init__(self) -> None:
        if not 1 <= self.nodes <= MAX_NODES:
            raise InvalidValueError("map-limit-invalid", limit=MAX_NODES, got=self.nodes)

    @property
    def text_bytes(self) -> int:
        """Largest size of the text in bytes, decompressed: what the longest format takes for all pairs."""
        return min(MAX_TEXT_BYTES, _BASE_BYTES + _BYTES_PER_PAIR * self.nodes**2)

    @property
    def graph_bytes(self) -> int:
        """Largest size of a graph in GML or GraphML: networkx uses up to 60 bytes for each byte."""
        return min(_MAX_GRAPH_BYTES, _BASE_BYTES + _GRAPH_BYTES_PER_NODE * self.nodes)

    @property
    def page_bytes(self) -> int:
        """Largest size of the page of one agent: six figures for each node."""
        return _BASE_BYTES + _PAGE_BYTES_PER_NODE * self.nodes

    @property
    def claims(self) -> int:
        """Largest number of pairs in the response of one agent or one Prometheus server, 200 bytes each."""
        return min(_MAX_CLAIMS, _MORE_CLAIMS + _CLAIMS_PER_PAIR * self.nodes**2)

    @property
    def claiming_agents(self) -> int:
        """Largest number of agents in the response of a Prometheus server, recently replaced ones included."""
        return _MORE_AGENTS + _AGENTS_PER_NODE * self.nodes

    def too_many_nodes(self, got: int | str = "more") -> Problem:
        """Return the problem of a map with too many nodes."""
        return Problem("map-nodes-excessive", {"limit": self.nodes, "got": got, "setting": self.setting})

    def too_large(self, limit: int, counted: str) -> Problem:
        """Return the problem of a text, or a part of it, that is larger than a map of that many nodes can need."""
        fields = {"limit": limit, "counted": counted, "nodes": self.nodes, "setting": self.setting}
        return Problem("map-too-large", fields)


#: The limits if the caller sets none.
DEFAULT_LIMITS = MapLimits()

#: The limits for files of the user that no setting limits further.
LARGEST = MapLimits(nodes=MAX_NODES, setting="the fixed maximum")
