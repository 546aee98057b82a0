"""Nodes that do not report to the cluster: the driver's batches show whether their replicas still work."""

from dataclasses import replace

from gesscale.model.cycles import cycle_s
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.ports import ClusterState

#: A replica works while its newest batch ended no longer ago than this many of its durations, and seconds more. Of the
#: newest batches the longest would be the cold first one of an executor, 20 s on a busy node.
_FRESH_CYCLES, _FRESH_S = 2.0, 5.0


def follow_batches(cluster: ClusterState, observation: WorkflowObservation) -> ClusterState:
    """Keep a replica on a silent node while it works, and drop one whose executor the driver has lost.

    A k3s agent that cannot reach the server may go on with its stream for days; when the server itself is away, all
    nodes are silent and none has failed.
    """
    placements, left = dict(cluster.placements), {name: dict(nodes) for name, nodes in cluster.left.items()}
    for name, reading in observation.readings.items():
        if name not in placements or not reading.batches:
            continue
        running, gone = set(placements[name]), left.setdefault(name, {})
        for node, since_s in cluster.silent.items():
            if node in gone and node in cluster.nodes and _works(reading, node):
                del gone[node]
                running.add(node)
            elif node in running and _is_absent(reading, node, since_s):
                gone[node] = "NotReady, and the driver has lost its executor"
                running.discard(node)
        placements[name] = tuple(sorted(running))
    return replace(cluster, placements=placements, left=left) if cluster.silent else cluster


def _works(reading: OperatorReading, node: str) -> bool:
    newest = reading.batches[-1]
    fresh_s = _FRESH_CYCLES * cycle_s((newest,)) + _FRESH_S
    return reading.at_s - newest.ended_at_s <= fresh_s and node in (newest.workers or ())


def _is_absent(reading: OperatorReading, node: str, since_s: float) -> bool:
    newest = reading.batches[-1]
    return newest.began_s > since_s and node not in newest.nodes
