"""Reading the two objects of scheduler-plugins; what they hold is said in `latency_map.formats.scheduler_plugins`."""

import math
import re
from typing import Any

import numpy as np

from gesscale.common.errors import InputError
from gesscale.common.text import glimpse
from latency_map.errors import LatencyMapError, error_at
from latency_map.formats.raw import RawDelays, SideFiles
from latency_map.formats.scheduler_plugins import CONFIG_MAP_KIND, KEY, MEANING, MOST_BYTES, TOPOLOGY_KIND
from latency_map.formats.source import MapSource
from latency_map.grid import Grid
from latency_map.kinds import DelayKind, DelayUnit

_KEYS = re.compile(re.escape(KEY).replace(r"\{\}", "(.{1,253})"))


def read_network_topology(source: MapSource, side_files: SideFiles) -> RawDelays:
    """Read the costs of a ``NetworkTopology``, in YAML or JSON.

    Parameters
    ----------
    source
        Its text.
    side_files
        None of them belongs to it.

    Returns
    -------
    RawDelays
        Between zones or regions. Unit and kind are known where this project wrote the resource.

    Raises
    ------
    LatencyMapError
        It is no such resource, or has other than one list of costs; the message says where.
    """
    del side_files
    content = _object(source, TOPOLOGY_KIND)
    place, origins = _origins(source.name, content)
    grid = _grid(source)
    for at, origin in enumerate(origins):
        here = f"{place}.originList[{at}]"
        a = grid.number(_text(source.name, origin, "origin", here))
        for index, cost in enumerate(_list(source.name, origin, "costList", here)):
            there = f"{here}.costList[{index}]"
            b = grid.number(_text(source.name, cost, "destination", there))
            value = cost.get("networkCost", 0)  # left out where it is 0
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                problem = f"expected a whole number of at least 0, got {glimpse(value)}"
                raise error_at(source.name, f"{there}.networkCost", problem)
            if not np.isnan(grid.layers["cost"][a, b]):
                raise error_at(source.name, there, "expected every pair once, got this one twice; remove one")
            grid.layers["cost"][a, b] = _float(value)
    metadata = content.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    stated = isinstance(annotations, dict) and all(
        annotations.get(key) == said for key, said in MEANING.items()
    )
    return _delays(grid, place, stated_at="its annotations" if stated else "")


def read_netperf(source: MapSource, side_files: SideFiles) -> RawDelays:
    """Read the ConfigMap of netperf figures, in YAML or JSON.

    Parameters
    ----------
    source
        Its text.
    side_files
        None of them belongs to it.

    Returns
    -------
    RawDelays
        Between nodes: the 90th percentiles, which are what the controller of scheduler-plugins looks up.

    Raises
    ------
    LatencyMapError
        It is no such ConfigMap; the message says where.
    """
    del side_files
    content = _object(source, CONFIG_MAP_KIND)
    data = content.get("data")
    grid = _grid(source)
    others = 0
    for key, value in data.items() if isinstance(data, dict) else ():
        found = _KEYS.fullmatch(key)
        if found is None:
            others += 1
            continue
        try:
            cost = float(value)
        except (TypeError, ValueError):
            raise error_at(
                source.name, f"data.{key}", f"expected milliseconds, got {glimpse(value)}"
            ) from None
        a, b = grid.number(found[1]), grid.number(found[2])
        grid.layers["cost"][a, b] = cost
    if not grid.numbers:
        problem = f"expected keys such as {KEY.format('A', 'B')}, got none"
        raise error_at(source.name, "data", problem)
    notes = (f"other keys, left out: {others}",) if others else ()
    return _delays(grid, "data", stated_at="its keys say milliseconds", notes=notes)


def _object(source: MapSource, kind: str) -> dict[str, Any]:
    from gesscale.common.yaml_text import parse_yaml

    try:
        content = parse_yaml(source.text(2 * MOST_BYTES), source.name)
    except InputError as error:
        raise LatencyMapError(str(error)) from None
    if not isinstance(content, dict) or content.get("kind") != kind:
        got = content.get("kind") if isinstance(content, dict) else content
        raise error_at(source.name, "kind", f"expected {kind}, got {glimpse(got)}")
    return content


def _origins(source: str, content: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """Return the only list of costs that holds any, and where it is."""
    found = []
    spec = content.get("spec")
    for at, weight in enumerate(_list(source, spec if isinstance(spec, dict) else {}, "weights", "spec")):
        place = f"spec.weights[{at}]"
        for index, topology in enumerate(_list(source, weight, "topologyList", place)):
            here = f"{place}.topologyList[{index}]"
            origins = _list(source, topology, "originList", here)
            if any(origin.get("costList") for origin in origins):
                found.append((here, origins))
    if len(found) != 1:
        listed = ", ".join(place for place, _ in found) or "none"
        problem = f"expected one list of costs, of zones or of regions, got {listed}; leave one in the file"
        raise error_at(source, "spec.weights", problem)
    return found[0]


def _list(source: str, content: dict[str, Any], key: str, place: str) -> list[dict[str, Any]]:
    listed = content.get(key) or []
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise error_at(source, f"{place}.{key}", f"expected a list of mappings, got {glimpse(listed)}")
    return listed


def _text(source: str, content: dict[str, Any], key: str, place: str) -> str:
    value = content.get(key)
    if not isinstance(value, str):
        raise error_at(source, f"{place}.{key}", f"expected the name of a zone, got {glimpse(value)}")
    return value


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _grid(source: MapSource) -> Grid:
    return Grid(source.name, source.limits, {"cost": np.float64(np.nan)})


def _delays(grid: Grid, place: str, *, stated_at: str, notes: tuple[str, ...] = ()) -> RawDelays:
    names = tuple(grid.numbers)
    values = grid.finish("cost")
    np.fill_diagonal(values, 0.0)
    return RawDelays(
        names=names,
        values=values,
        place=lambda a, b: f"{place}, {names[a]} to {names[b]}",
        unit=DelayUnit.MS if stated_at else None,
        kind=DelayKind.RTT if stated_at else None,
        stated_at=stated_at,
        notes=notes,
    )
