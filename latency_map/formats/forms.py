"""The forms of files that are read."""

from enum import StrEnum


class MapForm(StrEnum):
    """The forms that a file can have."""

    DOCUMENT = "document"
    MATRIX = "matrix"
    BARE_MATRIX = "bare-matrix"
    EDGES = "edges"
    PINGS = "pings"
    P2PSIM = "p2psim"
    LINKS = "links"
    GML = "gml"
    GRAPHML = "graphml"
    GOLDPINGER = "goldpinger"
    PING = "ping"
    FPING = "fping"
    ALTO = "alto"
    LIQO = "liqo"
    LIQO_ANSWER = "liqo-answer"
    NETWORK_TOPOLOGY = "network-topology"
    NETPERF = "netperf"
