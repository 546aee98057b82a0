"""Cost maps of ALTO, the IETF's Application-Layer Traffic Optimization, with a delay as their metric.

Source of the form: RFC 7285, section 11.2.3 (cost maps) and 11.5.1 (costs between endpoints); the metrics ``delay-rt``
and ``delay-ow`` are those of RFC 9439. A map does not carry the unit of its costs, so the caller says it.
"""

import numpy as np

from latency_map.errors import LatencyMapError, error_at
from latency_map.formats.json_text import Json, JsonReader, as_number, kind_of
from latency_map.formats.raw import RawDelays, check_file_names
from latency_map.grid import Grid
from latency_map.kinds import DelayKind

KEYS_OF_COSTS = ("cost-map", "endpoint-cost-map")
"""Under which of these the costs stand."""

_KINDS = {"delay-rt": DelayKind.RTT, "delay-ow": DelayKind.ONE_WAY}


def read_cost_map(content: JsonReader) -> RawDelays:
    """Read a cost map whose metric is a delay.

    Parameters
    ----------
    content
        The JSON.

    Returns
    -------
    RawDelays
        Nodes are the PIDs, groups of endpoints, or the endpoints, in the order in which they first occur. A cost that
        the map leaves out is missing, a cost within a PID is left out.

    Raises
    ------
    LatencyMapError
        It is no such map, its metric is no delay, or its costs are no numbers; the message says where.
    """
    if content.begins() != "{":
        raise error_at(content.name, "", f"expected a cost map, got {kind_of(content.last_value())}")
    costs = _Costs(content)
    kind: DelayKind | None = None
    for key in content.members():
        if key == "meta":
            kind = _kind(content.name, content.value())
        elif key in KEYS_OF_COSTS:
            costs.take(key)
        else:
            content.skip()
    if kind is None:
        raise error_at(content.name, "meta", "expected the cost-type of the map, got none; add it")
    return costs.delays(kind)


class _Costs:
    """The costs of a map, taken row by row."""

    def __init__(self, content: JsonReader) -> None:
        self.content = content
        self.grid = Grid(content.name, content.limits, {"cost": np.float64(np.nan)})
        self.key = ""
        self.within = 0

    def take(self, key: str) -> None:
        """Take all rows."""
        if self.key:
            raise error_at(
                self.content.name, key, f"expected one table of costs, got {self.key} too; remove one"
            )
        self.key = key
        self._check_object(key)
        for origin in self.content.members():
            row = self.grid.number(origin)
            self._check_object(f"{key}.{origin}")
            for destination in self.content.members():
                self._take_cost(row, origin, destination)

    def _take_cost(self, row: int, origin: str, destination: str) -> None:
        value = self.content.value()
        cost = as_number(value)
        if cost is None or cost < 0:
            problem = f"expected a delay of at least 0, got {kind_of(value)}"
            raise self._error(origin, destination, problem)
        column = self.grid.number(destination)
        if column == row:
            self.within += cost != 0
        else:
            self.grid.layers["cost"][row, column] = cost

    def _check_object(self, place: str) -> None:
        if self.content.begins() != "{":
            problem = f"expected an object of costs, got {kind_of(self.content.value())}"
            raise error_at(self.content.name, place, problem)

    def _error(self, origin: str, destination: str, problem: str) -> LatencyMapError:
        return error_at(self.content.name, f"{self.key}.{origin}.{destination}", problem)

    def delays(self, kind: DelayKind) -> RawDelays:
        names = tuple(self.grid.numbers)
        check_file_names(self.content.name, names)
        values = self.grid.finish("cost")
        np.fill_diagonal(values, 0.0)
        notes = (f"costs within a PID, left out: {self.within}",) if self.within else ()
        return RawDelays(
            names=names,
            values=values,
            place=lambda a, b: f"{self.key}.{names[a]}.{names[b]}",
            kind=kind,
            stated_at="meta.cost-type.cost-metric",
            notes=notes,
        )


def _kind(source: str, meta: Json) -> DelayKind:
    """Return which way the costs count, from the map's own account of itself."""
    place = "meta.cost-type"
    stated = meta.get("cost-type") if isinstance(meta, dict) else None
    if not isinstance(stated, dict):
        raise error_at(source, place, f"expected an object, got {kind_of(stated)}; add it")
    mode, metric = stated.get("cost-mode"), stated.get("cost-metric")
    if mode != "numerical":
        problem = f"expected numerical, got {kind_of(mode)}; ask the server for numerical costs"
        raise error_at(source, f"{place}.cost-mode", problem)
    base = (
        metric.partition(":")[0] if isinstance(metric, str) else ""
    )  # delay-rt:p95 is a percentile of delay-rt
    if base not in _KINDS:
        problem = f"expected {' or '.join(_KINDS)}, got {kind_of(metric)}; ask the server for a delay"
        raise error_at(source, f"{place}.cost-metric", problem)
    return _KINDS[base]
