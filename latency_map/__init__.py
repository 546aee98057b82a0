"""Network delays between edge nodes: a map of round trips in milliseconds, and the choice of nodes with it.

The package has nodes and delays, but nothing of Spark or auto-scaling. A file or a measurement gives a `Survey`, which
can be checked and repaired; `Survey.to_map` makes the `LatencyMap` of it that decisions use. `latency_map.measure`
probes the network.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from latency_map.choose.choice import NodeChoice, min_nd_max_subset
    from latency_map.choose.ranking import Distances, UnreachableNode, rank_by_distance
    from latency_map.errors import LatencyMapError, MissingDelayError, NoChoiceError, UnknownNodeError
    from latency_map.formats.collect import Imported
    from latency_map.formats.loading import parse_survey, read_map, read_survey
    from latency_map.formats.source import DEFAULT_OPTIONS, ImportOptions, read_names
    from latency_map.kinds import Asymmetry, DelayKind, DelayUnit, MapFormat, Method
    from latency_map.limits import LARGEST, MapLimits
    from latency_map.matrix import LatencyMap
    from latency_map.survey import Survey
    from latency_map.writing import write_csv, write_survey

__all__ = [
    "DEFAULT_OPTIONS",
    "LARGEST",
    "Asymmetry",
    "DelayKind",
    "DelayUnit",
    "Distances",
    "ImportOptions",
    "Imported",
    "LatencyMap",
    "LatencyMapError",
    "MapFormat",
    "MapLimits",
    "Method",
    "MissingDelayError",
    "NoChoiceError",
    "NodeChoice",
    "Survey",
    "UnknownNodeError",
    "UnreachableNode",
    "min_nd_max_subset",
    "parse_survey",
    "rank_by_distance",
    "read_map",
    "read_names",
    "read_survey",
    "write_csv",
    "write_survey",
]

#: Modules of the names, the lightest first: an agent on a small node imports none of them and no NumPy.
_MODULES = (
    *("errors", "kinds", "limits", "matrix", "survey"),
    *("choose.choice", "choose.ranking", "formats.source", "formats.loading", "writing"),
)


def __getattr__(name: str) -> object:
    """Import a name on first use."""
    for module in _MODULES if name in __all__ else ():
        found: object = getattr(import_module(f"latency_map.{module}"), name, None)
        if found is not None:
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
