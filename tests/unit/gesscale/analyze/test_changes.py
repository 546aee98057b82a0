"""Times of a change before any is measured."""

import pytest

from gesscale.analyze.changes import ChangeTimes, change_times


@pytest.mark.parametrize("trigger_s", [0.5, 2.0, 10.0])
def test_a_running_query_is_expected_to_go_on_whatever_its_trigger(trigger_s: float) -> None:
    assert change_times((), trigger_s, restarts=False) == ChangeTimes(start_s=8.0, stop_s=0.0)
    assert change_times((), trigger_s, restarts=True).stop_s == 120.0  # as in the paper
