"""Changes that are undone: instants of those of which a replica is taken back in time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gesscale.model.undone_changes import UNDONE_WITHIN_S, ChangesLastHour, undone_changes


@pytest.mark.parametrize(
    ("changes", "undone"),
    [
        ([], ()),
        ([(0, 1), (300, 1), (600, 2)], ()),  # only additions
        ([(0, 1), (600, -1)], (0,)),  # in time to the second
        ([(0, 1), (601, -1)], ()),
        ([(0, -1), (60, 1)], (0,)),  # removed and added again
        ([(0, 1), (300, -1), (600, 1), (900, -1)], (0, 300, 600)),  # each but the last is taken back
        ([(0, 3), (60, -1)], (0,)),  # one of three is enough
        ([(0, 2), (60, 1), (120, -1)], (60,)),  # the latest is taken back first
        ([(0, 2), (60, 1), (120, -2)], (0, 60)),
        ([(0, 1), (60, -1), (120, -1)], (0,)),  # the second removal takes back nothing
        ([(0, 1), (60, 0), (120, -1)], (0,)),  # a move is no change of the number
        ([(0, 1), (500, 1), (700, -2)], (500,)),  # the first addition is too long ago
    ],
)
def test_changes_of_which_a_replica_is_taken_back(changes: list[tuple[float, int]], undone: tuple[float, ...]) -> None:
    assert undone_changes(changes) == undone


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(-3, 3))), st.integers(1, 2000))
def test_an_undone_change_has_an_opposite_one_in_time(drawn: list[tuple[int, int]], within_s: int) -> None:
    changes = sorted(drawn, key=lambda change: change[0])
    undone = undone_changes(changes, within_s)
    assert len(undone) <= max(0, sum(added != 0 for _, added in changes) - 1)
    for at_s in undone:
        assert any(
            earlier == at_s and earlier <= later <= earlier + within_s and one * other < 0
            for earlier, one in changes
            for later, other in changes
        )


def test_the_last_hour_counts_changes_and_undone_ones() -> None:
    # Of the hour before 4,000 s: changes from 400 s on. The one at 4,100 s is in the future.
    changes = [(300.0, 1), (350.0, -1), (900.0, 1), (1000.0, -1), (3900.0, 0), (4100.0, 1)]
    assert ChangesLastHour.of(changes, 4000.0) == ChangesLastHour(ordered=3, undone=1)
    assert ChangesLastHour.of(changes, 4100.0 + UNDONE_WITHIN_S) == ChangesLastHour(ordered=2, undone=0)
