"""Network delays between edge nodes: one map, round trips in milliseconds, and the nodes that it calls for.

Knows nodes and delays and nothing of Spark or of auto-scaling. A file or a measurement gives a `Survey`, which
is checked and repaired; decisions are made by the `LatencyMap` that it amounts to. Probing is in
`latency_map.measure`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from latency_map.choose.choice import NodeChoice, least_nd_max_subset
    from latency_map.choose.ranking import Distances, UnreachableNode, by_distance
    from latency_map.errors import LatencyMapError, MissingDelayError, NoChoiceError, UnknownNodeError
    from latency_map.formats.loading import Imported, parse_survey, read_map, read_survey, write_csv, write_survey
    from latency_map.formats.source import NO_SIDE_FILES, SideFiles, read_names
    from latency_map.kinds import Asymmetry, DelayKind, DelayUnit, MapFormat, Method
    from latency_map.limits import LARGEST, MapLimits
    from latency_map.matrix import LatencyMap
    from latency_map.survey import Survey

__all__ = [
    "LARGEST",
    "NO_SIDE_FILES",
    "Asymmetry",
    "DelayKind",
    "DelayUnit",
    "Distances",
    "Imported",
    "LatencyMap",
    "LatencyMapError",
    "MapFormat",
    "MapLimits",
    "Method",
    "MissingDelayError",
    "NoChoiceError",
    "NodeChoice",
    "SideFiles",
    "Survey",
    "UnknownNodeError",
    "UnreachableNode",
    "by_distance",
    "least_nd_max_subset",
    "parse_survey",
    "read_map",
    "read_names",
    "read_survey",
    "write_csv",
    "write_survey",
]

#: Where the names are, the lightest first: the agent on a small node needs none of them, nor NumPy.
_MODULES = (
    *("errors", "kinds", "limits", "matrix", "survey"),
    *("choose.choice", "choose.ranking", "formats.source", "formats.loading"),
)


def __getattr__(name: str) -> object:
    """Import what is asked for."""
    for module in _MODULES if name in __all__ else ():
        found: object = getattr(import_module(f"latency_map.{module}"), name, None)
        if found is not None:
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
