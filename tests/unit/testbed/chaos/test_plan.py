"""The changes and faults that a seed draws."""

from dataclasses import replace
from itertools import pairwise

from refusals import refused

from testbed.chaos.plan import LOCAL_FAULTS, ChaosFault, draw_plan, parse_faults

NODES = [f"edge{number}" for number in range(1, 9)]


def test_a_longer_run_of_a_seed_begins_with_the_same_changes() -> None:
    assert draw_plan(7, 40, NODES, 4)[:15] == draw_plan(7, 15, NODES, 4)
    assert draw_plan(7, 15, NODES, 4) != draw_plan(8, 15, NODES, 4)
    change = replace(draw_plan(1, 1, NODES, 4)[0], choice=0.5)
    assert change.victim(["b", "a"]) == "b"  # sorted: a, b; half of the way through two is the second
    assert change.victim([]) is None


def test_only_named_faults_are_injected() -> None:
    named = parse_faults("none,broker-killed")
    assert named == (ChaosFault.NONE, ChaosFault.BROKER_KILLED)
    assert {change.fault for change in draw_plan(1, 20, NODES, 4, named)} == set(named)
    with refused("chaos-fault-unknown", got="earthquake"):
        parse_faults("none,earthquake")
    with refused("chaos-nodes-missing", nodes=1):
        draw_plan(1, 1, ["only"], 4)


def test_each_block_of_changes_has_every_fault_once() -> None:
    plan = draw_plan(3, 200, NODES, 4)
    assert [change.number for change in plan] == list(range(200))
    assert all(before.placement != after.placement for before, after in pairwise(plan))
    assert {len(change.placement) for change in plan} == {1, 2, 3, 4}
    assert all(list(change.placement) == sorted({*change.placement} & {*NODES}) for change in plan)
    for first in range(0, len(plan), len(LOCAL_FAULTS)):
        block = plan[first : first + len(LOCAL_FAULTS)]
        assert {change.fault for change in block} == set(LOCAL_FAULTS)
