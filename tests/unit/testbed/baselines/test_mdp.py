"""The elasticity MDP: what it counts and learns, its values by hand, and its variants."""

import numpy as np
import pytest
from priced_situations import SITUATION, chosen, rival, stepped

from testbed.baselines.mdp import LEVELS, MdpMemo

EMPTY = MdpMemo(policy="mdp", at_s=0.0, step_s=20.0)


def test_levels_are_counted_and_merged_when_the_load_exceeds_them():
    # The first load of 100 makes the top 200 and each level 10 rows/s: 100 is level 10, 55 level 5.
    memo = stepped(rival("mdp"), EMPTY, 100.0, 55.0, 100.0)
    assert (memo.top, memo.level) == (200.0, 10)
    assert memo.counts == {10 * LEVELS + 5: 1, 5 * LEVELS + 10: 1}
    # 250 doubles the top; levels 10 and 5 become 5 and 2, and 250 of 400 is level 12.
    memo = stepped(rival("mdp"), memo, 250.0)
    assert (memo.top, memo.level) == (400.0, 12)
    assert memo.counts == {5 * LEVELS + 2: 1, 2 * LEVELS + 5: 1, 5 * LEVELS + 12: 1}


def test_lateness_is_learned_by_a_tenth():
    # One replica of 100 rows/s carries 90: expected 0 late. A wait beyond the objective: 0.1, then 0.19.
    memo = stepped(rival("mdp"), EMPTY, 90.0, 90.0, wait_s=100.0)
    assert memo.late == {1 * LEVELS + memo.level: pytest.approx(0.19)}


def test_values_of_a_constant_load():
    # The level stays. One replica carries it for 1/3 a step, forever: 1/3 / (1 - 0.99) = 33.3. Two pay 2/3 or a change
    # of 2 and then as one: 2 + 33.3, which is less than 66.7.
    policy = rival("mdp")
    memo = stepped(policy, EMPTY, *[90.0] * 99)
    values = np.array(memo.values).reshape(8, LEVELS, 1)
    assert values[0, memo.level, 0] == pytest.approx(33.3, abs=0.1)
    assert values[1, memo.level, 0] == pytest.approx(35.3, abs=0.1)
    assert chosen(policy, memo, replicas=2) == 1


@pytest.mark.parametrize(("name", "replicas"), [("mdp", 2), ("mdp-any", 4), ("mdp-backlog", 4)])
def test_a_change_is_of_one_replica_as_published_or_of_any_number(name, replicas):
    # 350 rows/s, level 10 of 20 up to 700, need four replicas of 100; one is there, and late.
    policy = rival(name)
    memo = stepped(policy, policy.memo(policy=name, at_s=0.0, step_s=20.0), *[350.0] * 50, wait_s=100.0)
    assert chosen(policy, memo, load=350.0) == replicas


def test_only_the_backlog_variant_sees_rows_that_wait():
    # 90 rows/s suit one replica of 100, but its rows wait 90 s of 60 allowed and would do so for 15 minutes.
    for name, replicas in (("mdp-any", 1), ("mdp-backlog", 2)):
        policy = rival(name)
        memo = stepped(policy, policy.memo(policy=name, at_s=0.0, step_s=20.0), *[90.0] * 50)
        assert chosen(policy, memo, wait_s=5.0) == 1
        assert chosen(policy, memo, wait_s=90.0) >= replicas


def test_the_memo_stays_bounded():
    policy = rival("mdp-backlog")
    loads = np.random.default_rng(0).uniform(1.0, 800.0, 1500)
    memo = stepped(policy, policy.memo(policy="mdp-backlog", at_s=0.0, step_s=20.0), *loads, capacity=np.zeros(8))
    memo = stepped(policy, memo, 300.0, capacity=SITUATION.capacity)
    assert len(memo.values) == 8 * LEVELS * 5
    assert len(memo.model_dump_json()) < 12_288
