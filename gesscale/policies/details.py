"""Texts of decisions that several policies share: the figures behind a reason."""

from collections.abc import Sequence

from gesscale.model.observation import OperatorReading

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


def at_useful(reading: OperatorReading) -> str:
    """Return what bounds the useful replicas.

    Examples
    --------
    >>> from gesscale.model.observation import Batch
    >>> batch = Batch(batch_id=1, ended_at_s=9.0, rows=1, seconds=1.0, nodes=("a",), source_partitions=4, tasks=4)
    >>> at_useful(OperatorReading(operator="op", at_s=9.0, placement=("a",), throughput_rows_per_s=1.0,
    ...     saturated_share=0.0, busy_share=1.0, batches=(batch,), useful_replicas=4))
    'the source has 4 partitions'
    """
    limit = reading.useful_replicas
    partitions = reading.batches[-1].source_partitions if reading.batches else None
    one, many = ("partition", "partitions") if partitions == limit else ("task", "tasks")
    owner = "the source" if partitions == limit else "a batch"
    return f"{owner} has {limit} {one if limit == 1 else many}"


def at_minimum(min_replicas: int) -> str:
    """Return the configured minimum."""
    return f"min_replicas is {min_replicas}"
