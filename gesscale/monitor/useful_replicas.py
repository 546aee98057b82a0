"""How many replicas of an operator get work, from the partitions of its sources and the tasks of its batches."""

from collections.abc import Sequence

from gesscale.model.observation import Batch

#: Batches with fewer tasks than replicas that show it; one may be miscounted.
_ENOUGH_BATCHES = 2


def useful_replicas(run: Sequence[Batch], loaded: Sequence[Batch]) -> int | None:
    """Return the number of replicas beyond which a replica would get no task; None if unknown.

    Spark gives the tasks of a stage to its executors in turn, one each, before any gets a second one. A stage of t
    tasks therefore feeds at most t executors, however many slots each has: with four tasks and two slots each, four
    executors have one task each. The stage with the most tasks bounds the operator, as it may need all its executors.

    There are two kinds of counts. Kafka and the rate sources have their own number of partitions, and Spark's
    shuffles theirs; the larger one is the bound. Other sources cut a batch into as many tasks as there are slots, so
    their tasks are no bound: with another replica there would be more. If their batches have fewer tasks than replicas,
    although rows wait, the tasks do not follow the replicas.

    Parameters
    ----------
    run
        The recent batches since the query started, oldest first.
    loaded
        Those of them that were saturated and warm, so on the present placement.
    """
    newest = run[-1]
    most = max([batch.tasks or 0 for batch in run])
    if not most:
        return None  # a stage after a shuffle may have more tasks than the source
    if newest.source_partitions is not None:
        return max(newest.source_partitions, most)
    replicas = len(set(newest.nodes))
    counts = [batch.tasks for batch in loaded if batch.tasks is not None and set(batch.nodes) == set(newest.nodes)]
    fed = max(counts, default=replicas)
    return fed if len(counts) >= _ENOUGH_BATCHES and fed < replicas else None
