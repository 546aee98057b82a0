"""Texts of decisions that several policies share: the figures behind a reason."""

from collections.abc import Sequence

NO_OTHER_NODE = "no node can take another replica"


def reconfiguring(live: Sequence[str], newest_batch: Sequence[str]) -> str:
    """Return the nodes of the replicas, and those of the newest batch, which differ."""
    return f"replicas are on {', '.join(live) or 'no node'}, the newest batch ran on {', '.join(newest_batch)}"


def no_removal(stale: str) -> str:
    """Return why no replica is removed: the latency map is stale."""
    return f"no removal: {stale}"


def stale_map(stale: str) -> str:
    """Return the remark that a change uses a stale latency map."""
    return f"latency map: {stale}"


def at_maximum(max_replicas: int) -> str:
    """Return the configured maximum."""
    return f"max_replicas is {max_replicas}"


def at_minimum(min_replicas: int) -> str:
    """Return the configured minimum."""
    return f"min_replicas is {min_replicas}"
