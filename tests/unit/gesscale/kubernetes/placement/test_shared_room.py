"""Number of executors of several operators that fit on a node."""

import pytest
from kube import MIB, node

from gesscale.kubernetes.placement.nodes import Room
from gesscale.kubernetes.placement.room import shared_room


def asks(cpu_m):
    return Room(cpu_m=cpu_m, memory_bytes=MIB, pods=1)


@pytest.mark.parametrize(
    ("free_m", "takes", "found"),
    [
        (4000, (1000, 2000), {}),  # one of each fits
        (2500, (1000, 2000), {"a": 1}),  # the larger one, and 500 are left
        (1500, (1000, 2000), {"a": 1}),  # only the smaller one
        (500, (1000, 2000), {"a": 0}),
        (4000, (3000, 2000, 2000), {"a": 1}),  # though the two smaller ones would fit: the count must hold for any
    ],
)
def test_what_does_not_fit_together_is_counted(free_m, takes, found):
    there = [node("a", room=Room(cpu_m=free_m, memory_bytes=1024 * MIB, pods=9))]
    assert shared_room(there, [], [asks(each) for each in takes], reserved={}) == found
