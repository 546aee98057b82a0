from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.arena.case import METRICS
from testbed.scoring.sample import Completion, Sample, Scores
from testbed.scoring.scorer import Scorer, combine


def sample(
    t_s: float,
    demand: int,
    supply: int,
    *,
    serving: int | None = None,
    rates: tuple[float, float] = (0.0, 0.0),
    reconfigurations: int = 0,
) -> Sample:
    return Sample(
        t_s=t_s,
        demand_replicas=demand,
        supply_replicas=supply,
        serving_replicas=supply if serving is None else serving,
        input_rows_per_s=rates[0],
        processed_rows_per_s=rates[1],
        reconfigurations=reconfigurations,
    )


# Ten minutes of input, a restart in the third and fourth, a scale-down in the ninth, then the draining.
SAMPLES = (
    sample(0, 2, 1, rates=(100, 80)),
    sample(120, 2, 2, serving=0, rates=(100, 0), reconfigurations=1),
    sample(240, 2, 2, rates=(100, 120)),
    sample(360, 1, 2, rates=(50, 100)),
    sample(480, 1, 1, rates=(50, 60), reconfigurations=1),
    sample(600, 0, 1, rates=(0, 50), reconfigurations=1),
)


def scored(
    trajectory: tuple[Sample, ...], measured_s: float = 600, ended_at_s: float = 700, *, restart: bool = True
) -> Scores:
    scorer = Scorer(measured_s, 10, restart_is_supply=restart)
    for each in trajectory:
        scorer.on_sample(each)
    return scorer.scores(ended_at_s)


def test_replicas_cost_the_prices_of_their_nodes() -> None:
    # 1 replica on a node of price 3 for 60 s, then 2 on nodes of 3 and 0.5 for 120 s: 180 + 420 of price-seconds.
    priced = (
        sample(0, 1, 1, rates=(1, 1))._replace(supply_price=3.0),
        sample(60, 1, 2, rates=(1, 1))._replace(supply_price=3.5),
    )
    scores, plain = (
        scored(priced, 180, 180),
        scored(tuple(each._replace(supply_price=None) for each in priced), 180, 180),
    )
    assert (scores.node_seconds, scores.cost) == (600, 10)
    assert plain.node_seconds == 60 + 2 * 120
    assert (scores.accuracy_O, scores.timeshare_O) == (plain.accuracy_O, plain.timeshare_O)


def test_the_papers_seven_metrics_computed_by_hand() -> None:
    scores = scored(SAMPLES)
    # One replica too few in [0, 120), one too many in [360, 480): 120 replica-s of 600 s each.
    assert (scores.accuracy_U, scores.accuracy_O) == pytest.approx((0.2, 0.2))
    assert (scores.timeshare_U, scores.timeshare_O) == pytest.approx((20, 20))
    # Backlog: 120 (20 + 100 - 20 - 50 - 10) = 4,800 rows at 600 s, processed at 50 rows/s in 96 s: 96 / 600.
    assert scores.excess_time == pytest.approx(0.16)
    assert scores.drained
    assert scores.reconfigurations == 2  # the third is ordered when the measurement is over
    assert scores.undone_changes == 1  # a replica is added at 120 s and removed at 480 s
    assert scores.cost == pytest.approx((1 + 2 + 2 + 2 + 1) * 2)  # replica-minutes, two minutes each


def test_our_metrics_of_convergence_and_node_seconds() -> None:
    scores = scored(SAMPLES)
    # Demand begins at 2 and is met after 120 s; it falls to 1 at 360 s and is met at 480 s.
    assert scores.time_to_converge_s == pytest.approx(120)
    assert scores.node_seconds == pytest.approx(16 * 60 + 1 * 100)
    assert scores.latency_mean_s is None
    assert scores.latency_p99_s is None


def test_a_restart_without_supply_is_under_provisioning_but_costs() -> None:
    scores = scored(SAMPLES, restart=False)
    # [120, 240) lacks both replicas as well: 120 + 240 replica-s.
    assert scores.accuracy_U == pytest.approx(360 / 600)
    assert scores.timeshare_U == pytest.approx(40)
    assert scores.accuracy_O == pytest.approx(0.2)
    assert scores.time_to_converge_s == pytest.approx((240 + 120) / 2)
    assert scores.cost == pytest.approx(16)


def test_a_run_with_a_backlog_has_a_lower_bound_of_excess_time() -> None:
    scores = scored(SAMPLES, ended_at_s=660)  # 4,800 - 60 x 50 = 1,800 rows are left
    assert not scores.drained
    assert scores.excess_time == pytest.approx(60 / 600)


def test_scores_are_available_during_the_run() -> None:
    scorer = Scorer(100, 10)
    scorer.on_sample(sample(0, 1, 2))
    early = scorer.scores(100)
    scorer.on_sample(sample(50, 1, 1))
    assert early.accuracy_O == pytest.approx(1)
    assert scorer.scores(100).accuracy_O == pytest.approx(0.5)
    assert scorer.scores(100).accuracy_O == pytest.approx(0.5)


def test_operators_are_combined_by_sums_means_and_the_longest() -> None:
    source = replace(scored(SAMPLES), lag_above_slo_s=7.0)
    sink = Scorer(600, 10)
    for each in SAMPLES[:1]:
        sink.on_sample(each._replace(processed_rows_per_s=100.0))
    sink.on_completion(Completion(rows=5, offered_from_s=0, offered_until_s=0, at_s=4))
    both = combine({"source": source, "sink": sink.scores(700)})
    # The sink lacks one replica all the time, never converges, processes all its rows and uses one node for 700 s.
    assert both.accuracy_U == pytest.approx(0.2 + 1)
    assert both.accuracy_O == pytest.approx(0.2)
    assert both.timeshare_U == pytest.approx((20 + 100) / 2)
    assert both.excess_time == pytest.approx(100 / 600)  # the sink's input continues until 700 s; the source has 0.16
    assert (both.reconfigurations, both.undone_changes) == (2, 1)
    assert both.cost == pytest.approx(16 + 10)
    assert both.node_seconds == pytest.approx(1060 + 700)
    assert both.time_to_converge_s == pytest.approx((120 + 600) / 2)
    assert both.latency_mean_s == pytest.approx(4)
    assert both.lag_above_slo_s == 0  # the sink's
    assert both.drained


replicas = st.integers(0, 8)
pieces = st.lists(
    st.tuples(st.integers(1, 100), replicas, replicas, replicas, st.integers(0, 50), st.integers(0, 50)),
    min_size=1,
    max_size=12,
)


def trajectory_of(drawn: list[tuple[int, int, int, int, int, int]]) -> tuple[tuple[Sample, ...], float]:
    samples, at_s = [], 0
    for seconds, demand, supply, serving, offered, processed in drawn:
        samples.append(sample(at_s, demand, supply, serving=serving, rates=(offered, processed)))
        at_s += seconds
    return tuple(samples), float(at_s)


@given(pieces, st.data(), st.booleans())
def test_splitting_a_sample_changes_no_score(
    drawn: list[tuple[int, int, int, int, int, int]], data: st.DataObject, restart: bool
) -> None:
    trajectory, ended_at_s = trajectory_of(drawn)
    index = data.draw(st.integers(0, len(trajectory) - 1))
    share = data.draw(st.floats(0.01, 0.99))
    halved = trajectory[index]._replace(t_s=trajectory[index].t_s + share * drawn[index][0])
    split = (*trajectory[: index + 1], halved, *trajectory[index + 1 :])
    measured_s = ended_at_s * data.draw(st.floats(0.2, 1.0))
    whole = asdict(scored(trajectory, measured_s, ended_at_s, restart=restart))
    again = asdict(scored(split, measured_s, ended_at_s, restart=restart))
    assert again == pytest.approx(whole, abs=1e-6)


@given(pieces)
def test_cost_follows_from_demand_and_both_accuracies(drawn: list[tuple[int, int, int, int, int, int]]) -> None:
    trajectory, ended_at_s = trajectory_of(drawn)
    scores = scored(trajectory, ended_at_s, ended_at_s)
    demand = sum(seconds * demand for seconds, demand, *_ in drawn) / ended_at_s
    assert 60 * scores.cost / ended_at_s == pytest.approx(demand + scores.accuracy_O - scores.accuracy_U)


def test_the_page_of_metrics_lists_all_of_them() -> None:
    page = (Path(__file__).parents[4] / "docs" / "reference" / "metrics.md").read_text("utf-8")
    table = [line for line in page.splitlines() if line.startswith("| `")]
    reported = {name for line in table for name in line.split("|")[1].replace("`", "").replace(" ", "").split(",")}
    assert reported == set(METRICS)
