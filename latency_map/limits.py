"""How large a map from outside may be, and so about how much memory it takes.

A map of n nodes needs the arrays that it is held in: 9 n² bytes for its `Survey` (round trips, and marks of those
that are estimated), 8 n² for the `LatencyMap` that it amounts to. That is 17 MB for 1,000 nodes, 425 MB for 5,000.
To fill missing pairs, the known ones are held once more as a graph of up to 52 n² bytes. Readers count nodes as these
come, and hold all of a text.
"""

from dataclasses import dataclass

from latency_map.names import MAX_NODES

#: Most nodes of a map unless the user says otherwise.
DEFAULT_NODES = 1000

_BYTES_PER_PAIR = 500
_GRAPH_BYTES_PER_NODE = 1024
_PAGE_BYTES_PER_NODE = 1536
_BASE_BYTES = 1 << 16
_CLAIMS_PER_PAIR = 4
_MORE_CLAIMS = 1024
_MOST_CLAIMS = 200_000
_AGENTS_PER_NODE = 4
_MORE_AGENTS = 64
#: Most bytes of a map's text, decompressed, however many nodes it may have.
MOST_TEXT_BYTES = 256 << 20
_MOST_GRAPH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MapLimits:
    """Bounds on one map that is read; all of them follow from its nodes.

    Raises
    ------
    ValueError
        The nodes are not in that range.
    """

    #: Most nodes, 1 to `MAX_NODES`.
    nodes: int = DEFAULT_NODES
    #: What sets that, for messages.
    setting: str = "gesscale latency-map --max-nodes"

    def __post_init__(self) -> None:
        if not 1 <= self.nodes <= MAX_NODES:
            raise ValueError(f"expected a limit of 1 to {MAX_NODES} nodes, got {self.nodes}")

    @property
    def text_bytes(self) -> int:
        """Most bytes of text, decompressed: the longest form takes as many for each pair, and none is read beyond."""
        return min(MOST_TEXT_BYTES, _BASE_BYTES + _BYTES_PER_PAIR * self.nodes**2)

    @property
    def graph_bytes(self) -> int:
        """Most bytes of a graph in GML or GraphML: networkx holds all of it, up to 60 bytes for each byte."""
        return min(_MOST_GRAPH_BYTES, _BASE_BYTES + _GRAPH_BYTES_PER_NODE * self.nodes)

    @property
    def page_bytes(self) -> int:
        """Most bytes of what one agent says: six figures for each node."""
        return _BASE_BYTES + _PAGE_BYTES_PER_NODE * self.nodes

    @property
    def claims(self) -> int:
        """Most pairs that one agent or one Prometheus server may tell of, 200 bytes each."""
        return min(_MOST_CLAIMS, _MORE_CLAIMS + _CLAIMS_PER_PAIR * self.nodes**2)

    @property
    def claiming_agents(self) -> int:
        """Most agents that one Prometheus server may tell of: it still has those that were replaced of late."""
        return _MORE_AGENTS + _AGENTS_PER_NODE * self.nodes

    def too_many_nodes(self, got: str = "more") -> str:
        """Say that a map has too many nodes, and what sets the limit."""
        wanted = f"expected at most {self.nodes} nodes (limit: {self.setting})"
        return f"{wanted}, got {got}; give fewer, or raise that limit"

    def too_long(self, what: str, most: int) -> str:
        """Say that a text, or a part of it, is longer than a map of that many nodes can need."""
        return (
            f"expected at most {most} {what}, as {self.nodes} nodes need (limit: {self.setting}), got more;"
            " give less, or raise that limit"
        )


#: Unless the caller says otherwise.
DEFAULT_LIMITS = MapLimits()

#: For files that the user wrote, where no setting bounds them further.
LARGEST = MapLimits(nodes=MAX_NODES, setting="that of every map")
