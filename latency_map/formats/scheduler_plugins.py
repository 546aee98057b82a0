"""The two objects by which the network-aware plugins of Kubernetes' scheduler-plugins know delays.

A ``NetworkTopology`` has costs between zones or regions, a ConfigMap of netperf figures those between nodes. Costs are
whole numbers without a unit; a pair that is left out counts there as 0, or as the most there is. So all pairs are
written, each rounded up to whole milliseconds.

Source of the forms: ``types.go`` of github.com/diktyo-io/networktopology-api, and the key of the ConfigMap that
github.com/diktyo-io/networktopology-controller looks up.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from latency_map.delays import DelayKind, DelayUnit
from latency_map.errors import LatencyMapError, MissingDelayError, error_at, glimpse
from latency_map.formats.raw import RawDelays, SideFiles
from latency_map.formats.source import MapSource
from latency_map.grid import Grid
from latency_map.matrix import LatencyMap

API_GROUP = "networktopology.diktyo.x-k8s.io"
TOPOLOGY_KIND = "NetworkTopology"
CONFIG_MAP_KIND = "ConfigMap"
MEANING = {"gesscale.dev/unit": "ms", "gesscale.dev/kind": "rtt"}
"""The annotations by which a topology of this project says what its costs are: the resource has no place for it."""

_KEY = "netperf.p90.latency.milliseconds.origin.{}.destination.{}"
_KEYS = re.compile(r"netperf\.p90\.latency\.milliseconds\.origin\.(.{1,253})\.destination\.(.{1,253})")
_KEY_CHARACTERS = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_MOST_BYTES = 1 << 20
"""Most bytes of an object: the API server takes no larger ConfigMap."""


def to_network_topology(
    latencies: LatencyMap, *, name: str, namespace: str, topology_key: str, config_map: str
) -> dict[str, Any]:
    """Write a map as the resource with the costs between zones or regions.

    Parameters
    ----------
    latencies
        Round trips between zones or regions; see `between_groups`.
    name, namespace
        Of the resource.
    topology_key
        The label that has the zone, such as ``topology.kubernetes.io/zone``.
    config_map
        The name of the ConfigMap that stands beside it.

    Returns
    -------
    dict
        The object. Origins and destinations are in the order of their names, as the plugin searches them by halves.

    Raises
    ------
    LatencyMapError
        A pair has no delay, or the object is larger than an API server takes.
    """
    ordered = sorted(latencies.names)
    origins = [
        {
            "origin": origin,
            "costList": [
                {"destination": destination, "networkCost": cost} for destination, cost in destinations
            ],
        }
        for origin, destinations in _costs(latencies, ordered)
    ]
    return _checked(
        {
            "apiVersion": f"{API_GROUP}/v1alpha1",
            "kind": TOPOLOGY_KIND,
            "metadata": {"name": name, "namespace": namespace, "annotations": dict(MEANING)},
            "spec": {
                "configmapName": config_map,
                "weights": [
                    {
                        "name": "UserDefined",
                        "topologyList": [{"topologyKey": topology_key, "originList": origins}],
                    }
                ],
            },
        }
    )


def to_config_map(latencies: LatencyMap, *, name: str, namespace: str) -> dict[str, Any]:
    """Write a map as the ConfigMap with the costs between nodes.

    Parameters
    ----------
    latencies
        Round trips between nodes, by the names that they have in Kubernetes.
    name, namespace
        Of the ConfigMap.

    Returns
    -------
    dict
        The object, with a key for each ordered pair.

    Raises
    ------
    LatencyMapError
        A pair has no delay, a name cannot stand in a key, or the object is larger than an API server takes.
    """
    data = {}
    for origin, destinations in _costs(latencies, sorted(latencies.names)):
        for destination, cost in destinations:
            key = _KEY.format(origin, destination)
            if not _KEY_CHARACTERS.fullmatch(key) or ".destination." in origin + destination:
                message = (
                    f"expected names of Kubernetes nodes, at most 253 characters with their key, got {key!r};"
                    " rename the node in the map"
                )
                raise LatencyMapError(message)
            data[key] = str(cost)
    metadata = {"name": name, "namespace": namespace}
    return _checked({"apiVersion": "v1", "kind": CONFIG_MAP_KIND, "metadata": metadata, "data": data})


def between_groups(latencies: LatencyMap, groups: Mapping[str, str]) -> LatencyMap:
    """Return the largest round trip between the nodes of each two groups.

    Parameters
    ----------
    latencies
        Round trips between nodes.
    groups
        The group of each node, such as its zone.

    Returns
    -------
    LatencyMap
        Of the groups. A pair is missing where any pair of their nodes is: its largest round trip is not known.

    Raises
    ------
    LatencyMapError
        A node of the map has no group.
    """
    lacking = [node for node in latencies.names if node not in groups]
    if lacking:
        message = f"expected a zone for every node of the map, got none for {lacking[0]!r}; label the node"
        raise LatencyMapError(message)
    names = sorted({groups[node] for node in latencies.names})
    rows = [[at for at, node in enumerate(latencies.names) if groups[node] == name] for name in names]
    between = np.zeros((len(names), len(names)))
    for a, of_a in enumerate(rows):
        for b, of_b in enumerate(rows):
            if a != b:
                between[a, b] = latencies.rtt_ms[np.ix_(of_a, of_b)].max()  # NaN where one is
    return LatencyMap(names=tuple(names), rtt_ms=between)


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
        problem = f"expected keys such as {_KEY.format('A', 'B')}, got none"
        raise error_at(source.name, "data", problem)
    notes = (f"other keys, left out: {others}",) if others else ()
    return _delays(grid, "data", stated_at="its keys say milliseconds", notes=notes)


def _costs(latencies: LatencyMap, ordered: list[str]) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Yield for each node, in order, the cost to every other."""
    missing = latencies.missing()
    if missing:
        raise MissingDelayError(missing)
    for origin in ordered:
        row = latencies.rtt_ms[latencies.positions([origin])[0]]
        costs = zip(ordered, row[latencies.positions(ordered)].tolist(), strict=True)
        # to the nanosecond first: 12.000000000000002 ms are 12
        yield origin, [(name, math.ceil(round(rtt_ms, 6))) for name, rtt_ms in costs if name != origin]


def _checked(content: dict[str, Any]) -> dict[str, Any]:
    size = len(json.dumps(content))
    if size > _MOST_BYTES:
        message = (
            f"expected an object of at most {_MOST_BYTES} bytes, as an API server takes, got {size};"
            " export a part of the map, or zones instead of nodes"
        )
        raise LatencyMapError(message)
    return content


def _object(source: MapSource, kind: str) -> dict[str, Any]:
    from latency_map.formats.yaml_text import parse_yaml

    content = parse_yaml(source.text(2 * _MOST_BYTES), source.name)
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
