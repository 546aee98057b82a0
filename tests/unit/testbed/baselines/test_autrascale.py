"""AuTraScale+: throughput, latency and backlog one after the other, by trial."""

import pytest
from edge import workflow
from figures import figures
from trials import World, alone, durations, op, policy, word_count

from testbed.baselines.autrascale import steps
from testbed.baselines.autrascale.search import SearchSpace
from testbed.baselines.autrascale.situation import AutrascaleSettings

# The throughput step


NO_BACKLOG_STEP = {"event_latency_s": 86400.0}


def test_word_count_example():
    # 350/130, 350/90, 700/60, 700/70 thousand rows/s; b hands on two rows for each, seen at c.
    world = word_count().run(6)
    assert world.tried == [(1, 1, 1, 1), (3, 4, 12, 10)]
    assert figures(world.details[-1])[-5:-1] == [3, 4, 12, 10]
    assert world.run(60).tried == [(1, 1, 1, 1), (3, 4, 12, 10)]


def test_external_limit_ends_the_step_at_the_fewest_replicas():
    # Something outside takes no more than 100 rows/s: of 200, one replica does 60 and four or more do 100. True rates
    # ask for 4, 8 (25 rows/s each), and then for 16. Only 8 are possible, and those run already.
    world = alone(200.0)
    world.capacity = lambda _, count: min(100.0, 60.0 * count)
    world.run(120)
    assert world.tried == [(1,), (4,), (8,), (4,)]
    assert world.memo.capped_at == pytest.approx(100.0)


def test_replicas_are_given_up_until_true_rates_ask_for_no_fewer():
    # n replicas are busy for .3 + 1 / n of the time, so true rates ask for .3 n + 1 of them: 3.1 of seven, 2.2 of
    # four, 1.9 of three, 1.6 of two.
    world = alone(160.0, replicas=7)
    world.capacity = lambda _, count: 160 / (0.3 + 1 / count)
    world.run(30)
    assert world.tried == [(7,), (4,), (3,), (2,)]
    assert world.memo.least == (2,)


def test_one_replica_too_few_is_taken_back_and_not_tried_again():
    # True rates promise that two of three do for 190, but two do 180: the rates fall behind, three it is.
    world = alone(190.0, replicas=3)
    world.capacity = lambda _, count: {1: 95.0, 2: 180.0, 3: 320.0}[count]
    world.run(60)
    assert world.tried == [(3,), (2,), (3,)]
    assert world.memo.capped_at == 0.0  # nothing but replicas limits it


# Other rates


def test_a_rate_that_stays_is_sized_for_and_one_that_comes_and_goes_is_not():
    stays = alone(lambda at_s: 350.0 if at_s <= 1800 else 600.0, **NO_BACKLOG_STEP).run(33)
    # The third step after the change, at 1980 s, is the first at which it has persisted.
    assert stays.trajectory[31:] == [(4,), (6,)]
    goes = alone(lambda at_s: 600.0 if 1800 < at_s <= 1920 else 350.0, **NO_BACKLOG_STEP).run(60)
    assert goes.tried == [(1,), (4,)]


def test_rows_that_wait_are_processed_even_if_no_others_come():
    # 600 rows/s for half an hour to one replica of at most two: 600,000 or so wait when the load ends.
    world = alone(lambda at_s: 600.0 if at_s <= 1800 else 0.0)
    world.policy = policy(workflow(op(most=2)))
    world.run(35)
    assert world.waiting["op"] > 500_000
    assert world.trajectory[-1] == (2,)
    world.run(60)
    assert world.waiting["op"] == 0
    assert world.trajectory[-1] == (1,)


# The latency step


def crowded(**more):
    """Return a workflow of two operators at 90 % of what they can: 10 s * .9 + 5 s each make 28."""
    flow = workflow(op("a", most=20), op("b", "a", most=20))
    given = {"bootstrap": "model"} | {
        key: more.pop(key) for key in list(more) if key in AutrascaleSettings.model_fields
    }
    return World(
        policy(flow, event_latency=86400.0, **durations(given)),
        lambda _: 180.0,
        lambda name, count: {"a": 100.0, "b": 50.0}[name] * count,
        {"a": 1, "b": 1},
        **more,
    )


def test_a_tighter_target_is_searched_for_until_score_and_latency_are_good():
    # 22 s leave 12 for the batches of both, which take 18 with (2, 4).
    world = crowded(processing_latency_s=22.0).run(120)
    a, b = world.trajectory[-1]
    assert 10 * 1.8 / a + 10 * 3.6 / b + 10 <= 22.0
    assert 0.8 + 0.2 * (2 / a + 4 / b) / 2 >= 0.9
    assert world.memo.phase == "steady"
    assert world.memo.latency_trials <= 5
    assert world.run(30).trajectory[-1] == (a, b)


def test_the_best_bootstrap_sample_that_is_good_by_its_estimate_goes_first():
    # (2, 4) takes 9 s twice. Of the samples that promise 22 s or less (20, 4) has a score of .8 + .1 * (.1 + 1) and
    # (2, 20) one of .8 + .1 * (1 + .2); (7, 7) and all with more of both are below .9.
    assert crowded(processing_latency_s=22.0).run(60).tried == [(1, 1), (2, 4), (2, 20)]


def test_unreachable_target_ends_with_the_best_score(monkeypatch):
    assert steps._MAX_TRIALS == 20
    monkeypatch.setattr(steps, "_MAX_TRIALS", 5)
    # Two replicas are the least, 9 s in batches and 5 s before them; no number of them makes it 5.
    world = alone(180.0, processing_latency_s=5.0, **NO_BACKLOG_STEP)
    world.policy = policy(workflow(op(most=30)), processing_latency=5.0, event_latency=86400.0, bootstrap="model")
    world.run(6 * 11 + 30)
    assert world.memo.latency_trials == 5
    assert world.memo.gave_up
    samples = {item.replicas: item.latency_s for item in world.memo.models[0].samples}
    scores = {tried: 0.8 * 5.0 / latency + 0.2 * 2 / tried[0] for tried, latency in samples.items()}
    assert world.trajectory[-1] == max(scores, key=scores.get)
    assert world.run(30).trajectory[-31:] == [world.trajectory[-1]] * 31


def test_bootstrap_by_trials_runs_every_sample_first():
    world = crowded(processing_latency_s=5.0, bootstrap="trials").run(11 * 12)
    wanted = SearchSpace((2, 4), (20, 20)).bootstrap(6)
    assert world.tried[2 : 2 + len(wanted)] == list(wanted)


def test_samples_of_another_rate_are_kept_and_learnt_from():
    world = crowded(processing_latency_s=22.0)
    world.rate = lambda at_s: 180.0 if at_s <= 7200 else 270.0
    world.run(118)
    old = world.memo.models[0]
    assert len(old.samples) > 1
    world.run(60)
    now, before = world.memo.models[:2]
    assert (now.rate, before.rate) == (270.0, 180.0)
    assert before.samples == old.samples
    a, b = world.trajectory[-1]
    assert 10 * 2.7 / a + 10 * 5.4 / b + 10 <= 22.0


# The backlog step


def test_a_backlog_is_eaten_with_more_replicas_for_as_long_as_it_takes():
    # 600 rows/s for 30 min; one replica does 100 for six minutes, so 180,000 rows wait. Six replicas keep up with
    # 600 and do no more: the backlog would never go.
    world = alone(600.0).run(60)
    # V_t = 600 + (180,000 - 600 * (60 - 15)) / 600 = 855: nine replicas; only eight are possible.
    assert world.tried == [(1,), (6,), (8,), (6,)]
    assert world.waiting["op"] / 600.0 < 60.0


def test_backlog_that_drains_in_time_changes_nothing():
    # 90,000 rows of six minutes at 350 - 100; four replicas do 400, 50 more than are offered: 1800 s, too long. Where
    # each does 120 they go in 692 s, and where each does 140 in 429.
    assert alone(350.0).run(60).tried[:3] == [(1,), (4,), (5,)]
    world = alone(350.0)
    world.capacity = lambda _, count: 100.0 if count == 1 else 140.0 * count
    assert world.run(60).tried == [(1,), (4,)]


@pytest.mark.parametrize(
    ("method", "drains_with"),
    [
        # V_t = 855 as above, and six replicas do 600. All eight; 6 x 855 / 600 = 8.55; twice six.
        ("max", 8),
        ("proportion", 8),
        ("exponent", 8),
        # 855 - 600 = 255 is beta. Eight do 800: 255 / (55 + 255) = 0.82 is the best score, below 0.9.
        ("search", 8),
    ],
)
def test_the_baselines_of_the_paper_size_the_backlog_step(method, drains_with):
    world = alone(600.0)
    world.policy = policy(backlog_by=method)
    assert world.run(60).tried == [(1,), (6,), (drains_with,), (6,)]


@pytest.mark.parametrize(
    ("method", "drains_with"), [("max", 40), ("proportion", 9), ("exponent", 12), ("search", 9), ("rates", 9)]
)
def test_methods_differ_where_there_is_room(method, drains_with):
    # V_t = 855. Six replicas do 600: 6 x 855 / 600 = 8.55; 12 is twice six. 255 / (|100 n - 855| + 255) is at least 0.9
    # only for n = 9 (0.85 for 8: 255 / 310).
    world = alone(600.0)
    world.policy = policy(workflow(op(most=40)), backlog_by=method)
    assert world.run(60).tried == [(1,), (6,), (drains_with,), (6,)]
