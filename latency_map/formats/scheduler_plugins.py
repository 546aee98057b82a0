"""The two objects by which the network-aware plugins of Kubernetes' scheduler-plugins know delays, written of a map.

A ``NetworkTopology`` has costs between zones or regions, a ConfigMap of netperf figures those between nodes. Costs are
whole numbers without a unit; a pair that is left out counts there as 0, or as the most there is. So all pairs are
written, each rounded up to whole milliseconds. `latency_map.formats.scheduler_plugins_reading` reads them.

Source of the forms: ``types.go`` of github.com/diktyo-io/networktopology-api, and the key of the ConfigMap that
github.com/diktyo-io/networktopology-controller looks up.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from latency_map.errors import LatencyMapError, MissingDelayError
from latency_map.matrix import LatencyMap

API_GROUP = "networktopology.diktyo.x-k8s.io"
TOPOLOGY_KIND = "NetworkTopology"
CONFIG_MAP_KIND = "ConfigMap"
MEANING = {"gesscale.dev/unit": "ms", "gesscale.dev/kind": "rtt"}
"""The annotations by which a topology of this project says what its costs are: the resource has no place for it."""

KEY = "netperf.p90.latency.milliseconds.origin.{}.destination.{}"
"""The key of a pair in the ConfigMap."""

MOST_BYTES = 1 << 20
"""Most bytes of an object: the API server takes no larger ConfigMap."""

_KEY_CHARACTERS = re.compile(r"[-._a-zA-Z0-9]{1,253}")


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
        The name of the ConfigMap that goes with it.

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
            key = KEY.format(origin, destination)
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
    if size > MOST_BYTES:
        message = (
            f"expected an object of at most {MOST_BYTES} bytes, as an API server takes, got {size};"
            " export a part of the map, or zones instead of nodes"
        )
        raise LatencyMapError(message)
    return content
