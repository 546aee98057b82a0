"""What a change is taken to cost: superfluous replicas stay until they have cost as much, and no longer."""

import pytest
from complaint_world import changes, run, under

from gesscale.settings.analyze import AnalyzeSettings

FALL_S = 480.0
BUCKET_MIN = 1.0


@pytest.mark.parametrize("price", [0.0, 1.0, 2.0, 3.0, 5.0, 8.0])
@pytest.mark.parametrize("most", [2, 5])
def test_superfluous_replicas_stay_until_they_have_cost_a_change(most: int, price: float) -> None:
    # Each replica does 488 rows/s. From 480 s on one is enough for 300 rows/s; each other one costs 1 a minute.
    rates = [(most - 0.2) * 488] * 8 + [300] * 30
    nodes = tuple(f"n{index}" for index in range(most))
    settings = AnalyzeSettings(gesscale={"change_price": price})
    removals = changes(run(under(rates, initial={"op": nodes}), rules=settings), FALL_S)
    assert len(removals[-1].plan.placement) == 1
    for removal in removals:
        saved = len(removal.plan.before) - len(removal.plan.placement)
        waited_min = (removal.at_s - FALL_S) / 60
        # What they have cost since, and will cost in the next bucket, is at least the price of the change.
        assert saved * (waited_min + BUCKET_MIN) >= price
    first = removals[0]
    saved = len(first.plan.before) - len(first.plan.placement)
    # It comes within two buckets of the first step at which that holds.
    assert saved * ((first.at_s - FALL_S) / 60 - 2 * BUCKET_MIN) <= price
