"""Whom a node probes in which round, so that traffic grows as n k and yet every pair gets its turn."""

import hashlib
from collections.abc import Iterable


def neighbours(node: str, names: Iterable[str], *, each: int, turn: int, seed: int = 0) -> tuple[str, ...]:
    """Choose the nodes that a node probes in a round.

    All nodes are set on a ring, in an order that their names and the seed alone decide. With n nodes and k each,
    the round of number t probes the k nodes that are ``t k + 1`` to ``t k + k`` places ahead, counted without
    the node itself. So

    - every round has n k probed pairs, each node probes k others and is probed by k others;
    - over any ``ceil((n - 1) / k)`` rounds on end every node probes every other one;
    - with k at least n - 1 every round probes all.

    Parameters
    ----------
    node
        Who probes.
    names
        All nodes, in any order; the node itself may be missing.
    each
        k, at least 1.
    turn
        t, the number of the round.
    seed
        Of the order.

    Returns
    -------
    tuple of str
        The nodes to probe, nearest on the ring first.
    """
    ring = sorted({*names, node}, key=lambda name: (_place(name, seed), name))
    here, others = ring.index(node), len(ring) - 1
    if each >= others:
        steps = range(1, others + 1)
        return tuple(ring[(here + step) % len(ring)] for step in steps)
    ahead = (1 + (turn * each + place) % others for place in range(each))
    return tuple(ring[(here + step) % len(ring)] for step in ahead)


def rounds_to_cover(nodes: int, each: int) -> int:
    """Return after how many rounds every node has probed every other one: ``ceil((n - 1) / k)``, at least 1."""
    return max(1, -(-(nodes - 1) // each))


def _place(name: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}/{name}".encode()).digest()
