from dataclasses import replace
from itertools import pairwise

import pytest
from spark_scenes import QUIET, Notes, drawn_delays, equal_delays, one_operator, run_scene, steady, wave

from gesscale.model.decision import Change, Reason
from gesscale.options import PolicyOptions
from testbed.simulator.scene import MetricTraits, NodeFailure, Scene
from testbed.simulator.spark.plant import SparkPlant

NEVER = PolicyOptions(cpu_low_pct=0, cpu_high_pct=100)
DAY_S = 4 * 3600.0


def busy_day(**more: object) -> Scene:
    """Return ten nodes and a load that rises from 300 to 2,600 rows/s and falls again, in four hours."""
    return one_operator(wave(300, 2600, DAY_S, DAY_S), delays=drawn_delays(10, seed=3), **more)


# The clock


def test_samples_have_no_gaps_and_add_up_to_all_rows() -> None:
    scene = one_operator(steady(300, 600), delays=equal_delays(2, 0), sample_s=7.0)
    notes = run_scene(scene, "thr-nlaware", physics=QUIET, rules=NEVER)
    samples = notes.samples["op"]
    assert samples[0].t_s == 0
    widths = [later.t_s - sooner.t_s for sooner, later in pairwise(samples)]
    assert all(0 < width <= 7 for width in widths)
    widths.append(7.0)
    assert sum(s.input_rows_per_s * w for s, w in zip(samples, widths, strict=True)) == pytest.approx(180_000)
    assert sum(s.processed_rows_per_s * w for s, w in zip(samples, widths, strict=True)) == pytest.approx(180_000)


def test_a_backlog_drains_after_the_input_up_to_the_limit() -> None:
    # 900 rows/s against 487.8: after 600 s about 247,000 rows are left, which take 510 s.
    scene = one_operator(steady(900, 600), delays=equal_delays(1, 0), most=1)
    full = run_scene(scene, "thr-nlaware", physics=QUIET)
    assert sum(completion.rows for completion in full.completions) == 540_000
    assert full.samples["op"][-1].t_s == pytest.approx(540_000 / (6000 / 12.3), abs=25)
    cut = run_scene(replace(scene, drain_limit_s=100.0), "thr-nlaware", physics=QUIET)
    assert cut.samples["op"][-1].t_s == 690
    assert sum(completion.rows for completion in cut.completions) < 350_000


def test_delays_of_steps_are_bounded_and_do_not_add_up() -> None:
    scene = one_operator(
        steady(100, 3000), delays=equal_delays(1, 0), metrics=MetricTraits(jitter_s=8.0), sample_s=10.0
    )
    notes = run_scene(scene, "thr-nlaware", physics=QUIET, rules=NEVER)
    lateness = [decision.at_s - 60 * step for step, decision in enumerate(notes.decisions, start=1)]
    assert all(0 <= late <= 8 for late in lateness)
    assert max(lateness) > 6
    assert len({round(late, 3) for late in lateness}) > 30


# Policies on Spark


def test_a_lost_replica_is_started_again_once_its_node_is_back() -> None:
    # n1 has an ordered replica; its node is gone from 3,000 to 4,000 s, and there is no third.
    scene = one_operator(
        steady(700, 6000), delays=equal_delays(2, 5), failures=(NodeFailure(node="n1", from_s=3000, until_s=4000),)
    )
    notes = run_scene(scene, "thr-nlaware")
    grown = next(decision for decision in notes.decisions if decision.acted)
    assert grown.plan.change == Change(add=("n1",))
    restored = [each for each in notes.decisions if each.plan.reason is Reason.REPLICA_LOST]
    assert [each.at_s for each in restored] == [4020]
    assert restored[0].plan.change == Change(add=("n1",))


# Determinism


def outcome(notes: Notes) -> tuple[object, ...]:
    return notes.samples, notes.completions, [(each.at_s, each.sentence) for each in notes.decisions]


@pytest.mark.parametrize("policy", ["gesscale", "thr-nlunaware"])
def test_a_run_depends_on_the_seed(policy: str) -> None:
    scene = busy_day(metrics=MetricTraits(gap_share=0.1, jitter_s=5.0))
    first, again, other = (run_scene(scene, policy, seed=seed) for seed in (1, 1, 2))
    assert outcome(first) == outcome(again)
    assert outcome(first) != outcome(other)


def test_the_noise_of_a_batch_does_not_depend_on_the_policy() -> None:
    # Nine nodes or one: after the same number of batches the noise is the same. Both are at their limit.
    physics = replace(QUIET, batch_noise=0.1)
    times = []
    for placement in (("n0",), tuple(f"n{index}" for index in range(9))):
        scene = one_operator(steady(9000, 500), delays=equal_delays(9, 0), initial={"op": placement}, rows=6000)
        plant = SparkPlant(scene, {"op": physics}, seed=7)
        plant.advance(500)
        times.append([batch.seconds for batch in plant.batches("op")][1:20])
    assert times[0] == pytest.approx(times[1])
