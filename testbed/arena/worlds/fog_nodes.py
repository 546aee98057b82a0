"""Builds the nodes of a case and the delays between them from independent random streams."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np

from gesscale.errors import InputError
from latency_map import LARGEST, LatencyMap, read_map
from latency_map.delays import Delays
from latency_map.generate import Clusters, Span, generate_clustered, node_names
from testbed.arena.experiments.sections import GeneratedMap, MapKind, NodesSection
from testbed.cluster.topology import read_topology
from testbed.simulator.scene import SimulatedNode


def stream(seed: int, purpose: str) -> np.random.SeedSequence:
    """Return the random stream of a purpose; the streams of one seed are independent."""
    return np.random.SeedSequence([seed, crc32(purpose.encode())])


def seed_of(seed: int, purpose: str) -> int:
    """Return an integer seed of a purpose."""
    return int(stream(seed, purpose).generate_state(1, np.uint64)[0])


#: Longest round trip within a site of a clustered map, ms.
_SITE_MS = 10.0

#: Decimals of random round trips in ms: whole microseconds.
_DECIMALS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FogNodes:
    """Nodes, the delays between them, and the node of the drivers."""

    nodes: Mapping[str, SimulatedNode]
    delays: LatencyMap
    driver_node: str


def fog_nodes(section: NodesSection, seed: int) -> FogNodes:
    """Return the nodes of an experiment.

    Raises
    ------
    InputError
        If a file cannot be read, or a node does not exist.
    """
    delays, known, driver_node = _load(section, seed)
    if section.count is not None and section.count > len(delays):
        raise InputError("experiment-nodes-exceeded", place="nodes.count", available=len(delays), got=section.count)
    delays = delays.subset(delays.names[: section.count])
    driver_node = section.driver_node or driver_node or delays.names[0]
    named = {
        "driver_node": [driver_node],
        "weights": section.weights,
        "reported_weights": section.reported_weights,
        "slots": section.slots,
        "prices": section.prices,
    }
    for setting, names in named.items():
        if unknown := [name for name in names if name not in delays]:
            raise InputError(
                "experiment-node-unknown", place=f"nodes.{setting}", node=unknown[0], known=list(delays.names)
            )
    nodes = {
        name: SimulatedNode(
            name=name,
            weight=section.weights.get(name, known[name].weight if name in known else 1.0),
            reported_weight=section.reported_weights.get(name),
            slots=section.slots.get(name, known[name].slots if name in known else None),
            price=section.prices.get(name, known[name].price if name in known else 1.0),
        )
        for name in delays.names
    }
    return FogNodes(nodes=nodes, delays=delays, driver_node=driver_node)


def _load(section: NodesSection, seed: int) -> tuple[LatencyMap, Mapping[str, SimulatedNode], str]:
    if section.topology is not None:
        return _of_topology(section.topology)
    if section.map is not None:
        return read_map(section.map, unit=section.unit, kind=section.kind, limits=LARGEST), {}, ""
    generated = section.generated or GeneratedMap()
    return _random_map(generated, section.count or 1, seed if generated.per_seed else None), {}, ""


@lru_cache(maxsize=8)
def _of_topology(source: str) -> tuple[LatencyMap, Mapping[str, SimulatedNode], str]:
    topology = read_topology(source)
    nodes = {
        each.name: SimulatedNode(
            name=each.name, weight=each.weight, price=each.price, slots=each.slots if each.slots > 1 else None
        )
        for each in topology.nodes
    }
    return topology.map, nodes, topology.driver_node


def _random_map(generated: GeneratedMap, count: int, seed: int | None) -> LatencyMap:
    numbers = stream(generated.seed if seed is None else seed, "latency map")
    rng = np.random.default_rng(numbers.spawn(1)[0])
    rtt_ms = np.round(_round_trips_ms(rng, generated, count), _DECIMALS)
    return LatencyMap(names=node_names(count), rtt_ms=rtt_ms)


def _round_trips_ms(rng: np.random.Generator, generated: GeneratedMap, count: int) -> Delays:
    low, high = generated.low_ms, generated.high_ms
    every_pair = generated.kind is MapKind.UNIFORM
    within = Span(low_ms=min(low, _SITE_MS), high_ms=min(high, _SITE_MS))
    sites = Clusters(
        count=count if every_pair else min(generated.clusters, count),
        within=within,
        between=Span(low_ms=low, high_ms=high),
    )
    return generate_clustered(rng, count, sites)
