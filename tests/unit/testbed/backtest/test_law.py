"""What batches show about the time of a batch, and what they leave open."""

from collections.abc import Iterable

import pytest

from gesscale.errors import InputError
from gesscale.model.observation import Batch
from testbed.backtest.law import FittedLaw, learn
from tests.refusals import refused

TRUE = FittedLaw(fixed_s=0.5, row_s=0.004, shared_row_s=0.0)


def batches(replicas: Iterable[int], *, rows: Iterable[int] = (500, 1500, 1000)) -> list[Batch]:
    sizes = list(rows)
    made = []
    for number, held in enumerate(replicas):
        count = sizes[number % len(sizes)]
        made.append(
            Batch(
                batch_id=number,
                ended_at_s=1000.0 + 10 * number,
                rows=count,
                seconds=TRUE.batch_s(count, held),
                trigger_s=10.0,
                nodes=tuple(map(str, range(held))),
            )
        )
    return made


def test_several_numbers_of_replicas_show_the_law() -> None:
    found = learn(batches([2] * 40 + [4] * 40 + [1] * 40), "log")
    assert found.replicas == (1, 2, 4)
    assert not found.left_open
    likeliest, slow, fast = found.laws
    for replicas in (1, 2, 3, 4):
        # without a cap a trigger of 10 s holds (10 - 0.5) / (0.004 / n) rows: 237.5 n a second
        assert likeliest.mst_rows_per_s(replicas, 10.0, None) == pytest.approx(237.5 * replicas, rel=0.05)
    assert slow.batch_s(1500, 4) > likeliest.batch_s(1500, 4) > fast.batch_s(1500, 4)


def test_one_number_of_replicas_leaves_open_what_a_replica_adds() -> None:
    found = learn(batches([4] * 60), "log")
    assert [each.code for each in found.left_open] == ["backtest-replicas-constant"]
    divided, *_, whole = found.laws
    assert divided.batch_s(1000, 4) == pytest.approx(1.5, rel=0.02)  # 0.5 + 1000 * 0.004 / 4
    assert divided.batch_s(1000, 2) == pytest.approx(2.5, rel=0.05)
    assert whole.batch_s(1000, 2) == pytest.approx(1.5, rel=0.05)  # half of the replicas would be as fast


def test_too_few_warm_batches_are_refused() -> None:
    with refused("backtest-warm-batches-few", InputError, got=8):
        learn(batches([1] * 9), "log")
    with refused("backtest-warm-batches-few", InputError, got=0):
        learn(batches([1, 2] * 30), "log")  # each batch has other replicas than the one before
