"""What a backtest predicts from the first part of a recorded live run against what came."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from gesscale.errors import InputError
from gesscale.model.evidence import mark_warm
from gesscale.model.observation import Batch
from testbed.backtest.law import learn
from testbed.simulator.validation.recorded_run import read_run
from tests.refusals import refused

RECORDS = Path(__file__).parents[3] / "data" / "records"
#: Those that changed after enough batches; the executors of `warm-3` were far away, which no log shows.
NEAR, FAR = ("day_of_gesscale", "q5-2", "warm-1", "warm-2", "warm-5"), ("warm-3",)
SHORT = ("nexmark-1", "q5-1", "q5-3", "q5-4", "q5-5", "warm-4")


def first_change(batches: Sequence[Batch]) -> int:
    return next(number for number, batch in enumerate(batches) if batch.nodes != batches[0].nodes)


def ratios(name: str, until: int) -> list[float]:
    """Return the time of the warm batches after the first ones by each law against what they took."""
    batches = read_run(RECORDS / name).batches
    laws = learn(batches[:until], name).laws
    marked = zip(batches[until:], mark_warm(batches)[until:], strict=True)
    after = [batch for batch, is_warm in marked if is_warm and batch.rows]
    took_s = sum(batch.seconds for batch in after)
    return [sum(law.batch_s(batch.rows, len(batch.nodes)) for batch in after) / took_s for law in laws]


@pytest.mark.parametrize("name", NEAR)
def test_what_came_after_the_first_change_is_predicted(name: str) -> None:
    likeliest, *others = ratios(name, first_change(read_run(RECORDS / name).batches))
    assert likeliest == pytest.approx(1, abs=0.1)
    assert min(others) <= 1 <= max(others)


@pytest.mark.parametrize("name", FAR)
def test_far_executors_are_in_the_range_only(name: str) -> None:
    likeliest, *others = ratios(name, first_change(read_run(RECORDS / name).batches))
    assert likeliest < 0.9
    assert min(others) <= 1 <= max(others)


@pytest.mark.parametrize("name", SHORT)
def test_short_beginnings_are_refused(name: str) -> None:
    with refused("backtest-warm-batches-few", InputError, source=name):
        ratios(name, first_change(read_run(RECORDS / name).batches))


def test_intervals_from_the_first_half_cover_most_second_halves() -> None:
    found = [ratios(name, len(read_run(RECORDS / name).batches) // 2) for name in (*NEAR, *FAR, *SHORT)]
    assert sum(min(each) <= 1 <= max(each) for each in found) >= 10  # 8 of 10
