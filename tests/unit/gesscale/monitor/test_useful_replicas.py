"""How many replicas get work: from partitions of the sources and tasks of the batches."""

from dataclasses import replace

import pytest

from gesscale.model.observation import Batch
from gesscale.monitor.offered import newest_run
from gesscale.monitor.useful_replicas import useful_replicas


def batches(*tasks: int | None, replicas: int = 3, partitions: int | None = None) -> list[Batch]:
    nodes = tuple("abcdefgh"[:replicas])
    return [
        Batch(
            batch_id=index,
            ended_at_s=10.0 * index + 1,
            rows=1,
            seconds=1.0,
            nodes=nodes,
            source_partitions=partitions,
            tasks=count,
        )
        for index, count in enumerate(tasks)
    ]


@pytest.mark.parametrize(
    ("partitions", "tasks", "useful"),
    [
        (4, (4, 4), 4),
        (4, (2, 3), 4),  # partitions without a new row have no task
        (4, (4, 6), 6),  # six state partitions, or Kafka's `minPartitions`
        (4, (None, 6, None), 6),  # Spark's records came late
        (4, (None, None), None),  # there may be a shuffle
        (1, (1, 1), 1),
    ],
)
def test_partitions_and_shuffles_bound_the_replicas(
    partitions: int, tasks: tuple[int | None, ...], useful: int | None
) -> None:
    assert useful_replicas(batches(*tasks, partitions=partitions), []) == useful


@pytest.mark.parametrize(
    ("tasks", "useful"),
    [
        ((3, 3, 3), None),  # as many as replicas: they may follow them
        ((12, 12, 12), None),
        ((2, 2, 2), 2),
        ((1, 2, 1), 2),
        ((2,), None),  # one batch may be miscounted
        ((None, None), None),
    ],
)
def test_tasks_bound_the_replicas_if_there_are_fewer_although_rows_wait(
    tasks: tuple[int | None, ...], useful: int | None
) -> None:
    seen = batches(*tasks)
    assert useful_replicas(seen, seen) == useful
    assert useful_replicas(seen, []) is None  # without a backlog, fewer tasks may be due to fewer rows


def test_a_new_replica_is_judged_by_batches_that_it_took_part_in() -> None:
    # Three tasks on three replicas; the fourth is there when the last batch ends, which was cut for three.
    seen = [*batches(3, 3), *batches(3, 3, 3, replicas=4)[2:]]
    assert useful_replicas(seen, seen) is None


def test_a_restarted_query_has_other_partitions() -> None:
    before, after = batches(8, 8, partitions=8), batches(2, 2, partitions=2)
    again = [replace(each, ended_at_s=each.ended_at_s + 100.0) for each in after]
    assert useful_replicas(newest_run([*before, *again]), []) == 2
