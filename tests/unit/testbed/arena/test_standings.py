"""The league: costs relative to ideal, and the winners of loads."""

import arena_runs
import pytest

from gesscale.policies.gesscale.settings import GesscaleSettings
from testbed.arena.case import CaseResult
from testbed.arena.evaluation.standings import standings
from testbed.arena.names import CHANGE_PRICE
from testbed.arena.policies.catalogue import knows_price

EXPERIMENT = arena_runs.small_experiment(policies=["static", "thr-nlaware", "gesscale", "ideal"], seeds=2)

FIGURES = {  # policy and load: replica-minutes and late minutes; in the second seed one more of each
    ("ideal", "steps"): (100, 0),
    ("ideal", "spikes"): (50, 0),
    ("static", "steps"): (90, 0),
    ("static", "spikes"): (40, 0),
    ("thr-nlaware", "steps"): (120, 20),
    ("thr-nlaware", "spikes"): (70, 0),
    ("gesscale", "steps"): (150, 0),
    ("gesscale", "spikes"): (60, 5),
}


def results(*, lost=(), without=()):
    found = []
    for case in EXPERIMENT.cases():
        if case.policy in without:
            continue
        paid, late = (figure + case.seed for figure in FIGURES[case.policy, case.workload])
        metrics = {
            "node_seconds": 60.0 * paid,
            "lag_above_slo_s": 60.0 * late,
            "reconfigurations": 4,
            "undone_changes": case.seed,
            "latency_mean_s": 3.0 + case.seed,
            "latency_p99_s": 30.0,
            "timeshare_U": 5.0,
        }
        gone = (case.policy, case.workload, case.seed) in lost
        found.append(CaseResult(case=case, lost="raised") if gone else CaseResult(case=case, metrics=metrics))
    return found


def by_policy(**changes):
    return {each.policy: each for each in standings(EXPERIMENT, results(**changes), prices=(1.0, 10.0))}


def test_costs_are_geometric_means_over_loads_of_ratios_to_ideal():
    ours = by_policy()["gesscale"]
    # Means over the seeds: 150.5 and 60.5 replica-minutes, 0.5 and 5.5 late minutes; ideal's 100.5 and 50.5 with
    # 0.5 late minutes each. At 0: sqrt(150.5/100.5 x 60.5/50.5); at 1: sqrt(151/101 x 66/51); at 10:
    # sqrt(155.5/105.5 x 115.5/55.5).
    assert ours.replicas.mean == pytest.approx((150.5 / 100.5 * 60.5 / 50.5) ** 0.5)
    assert [cost.mean for cost in ours.without_changes.total_costs] == pytest.approx(
        [(151 / 101 * 66 / 51) ** 0.5, (155.5 / 105.5 * 115.5 / 55.5) ** 0.5]
    )
    # Four changes at 2 add 8 to each run; those of ideal are free.
    assert [cost.mean for cost in ours.with_changes.total_costs] == pytest.approx(
        [(159 / 101 * 74 / 51) ** 0.5, (163.5 / 105.5 * 123.5 / 55.5) ** 0.5]
    )
    assert [cost.mean for cost in by_policy()["ideal"].with_changes.total_costs] == [1.0, 1.0]
    assert ours.late_min.mean == 3.0  # of 0, 1, 5 and 6
    assert ours.changes.mean == 4.0
    assert ours.undone.mean == 0.5  # 0 and 1
    assert [each.mean for each in (ours.age_mean_s, ours.age_p99_s, ours.below_load_pct)] == [3.5, 30.0, 5.0]


def test_the_price_of_a_change_is_that_of_the_default_policy():
    assert GesscaleSettings().change_price == CHANGE_PRICE


def test_a_load_is_won_by_the_account_of_its_table():
    # steps at 1: 141 for the threshold and 151 for gesscale; six changes of the threshold at 2 reverse that.
    found = [
        CaseResult(
            case=each.case, metrics={**each.metrics, "reconfigurations": 6 * (each.case.policy == "thr-nlaware")}
        )
        for each in results()
    ]
    table = {each.policy: each for each in standings(EXPERIMENT, found, prices=(1.0,))}
    assert table["thr-nlaware"].without_changes.won == (("steps",),)
    assert table["gesscale"].with_changes.won == (("steps", "spikes"),)


def test_the_policies_that_know_the_price_are_named():
    table = by_policy()
    assert {name: each.knows_price for name, each in table.items()} == {
        "static": False, "thr-nlaware": False, "gesscale": True, "ideal": False,
    }  # fmt: skip
    assert knows_price("mine.py:POLICY") is None
    assert knows_price("oracle")


def test_a_policy_that_lost_every_run_is_named_and_wins_nothing():
    lost = [("gesscale", load, seed) for load in EXPERIMENT.workloads for seed in (0, 1)]
    ours = by_policy(lost=lost)["gesscale"]
    assert (ours.runs, ours.lost) == (4, 4)
    assert ours.with_changes.won == ours.without_changes.won == ((), ())
    assert {ours.replicas, ours.late_min, ours.changes, *ours.with_changes.total_costs} == {None}
    assert by_policy(lost=lost)["thr-nlaware"].with_changes.won == (("steps", "spikes"), ("steps", "spikes"))


def test_the_lowest_cost_wins_a_load_and_references_win_none():
    table = by_policy()
    # steps: threshold 120.5 + 20.5 p, gesscale 150.5 + 0.5 p, so 141 against 151 at 1 and 325.5 against 155.5 at 10.
    # spikes: 70.5 + 0.5 p against 60.5 + 5.5 p: 71 against 66 at 1, 75.5 against 115.5 at 10.
    assert table["thr-nlaware"].without_changes.won == (("steps",), ("spikes",))
    assert table["gesscale"].without_changes.won == (("spikes",), ("steps",))
    assert table["static"].with_changes.won == table["ideal"].with_changes.won == ((), ())
    assert [name for name, standing in table.items() if not standing.competes] == ["static", "ideal"]


def test_a_lost_run_loses_the_load_but_other_seeds_are_compared():
    ours = by_policy(lost=[("gesscale", "steps", 0)])["gesscale"]
    assert (ours.runs, ours.lost) == (4, 1)
    assert ours.without_changes.won == (("spikes",), ())
    assert ours.replicas.mean == pytest.approx((151 / 101 * 61 / 51) ** 0.5)  # of the second seed alone
    assert ours.replicas.low is None


def test_a_load_is_won_over_the_seeds_of_all_policies():
    # gesscale has only the first seed: at 1, its cost of steps is 150, and that of the threshold 120 + 20. The second
    # seed, in which the cost of the threshold is 1,000, would reverse the order.
    found = [
        CaseResult(case=each.case, metrics={**each.metrics, "node_seconds": 60_000.0})
        if (each.case.policy, each.case.workload, each.case.seed) == ("thr-nlaware", "steps", 1)
        else each
        for each in results()
        if (each.case.policy, each.case.seed) != ("gesscale", 1)
    ]
    table = {each.policy: each for each in standings(EXPERIMENT, found, prices=(1.0,))}
    assert table["thr-nlaware"].without_changes.won == (("steps",),)


def test_costs_can_use_another_measure_of_lateness():
    # The area is three times the minutes: the cost of gesscale on spikes is 60 and 3 x 5 late minutes, 61 and 3 x 6.
    found = [
        CaseResult(case=each.case, metrics={**each.metrics, "lag_area_slo_s": 3 * each.metrics["lag_above_slo_s"]})
        for each in results()
    ]
    found = standings(EXPERIMENT, found, prices=(1.0,), lateness="lag_area_slo_s")
    ours = next(each for each in found if each.policy == "gesscale")
    assert ours.late_min.mean == 9.0  # of 0, 3, 15 and 18
    # Means over the seeds, 150.5 + 1.5 and 60.5 + 16.5 against ideal's 100.5 + 1.5 and 50.5 + 1.5.
    assert ours.without_changes.total_costs[0].mean == pytest.approx((152 / 102 * 77 / 52) ** 0.5)


def test_results_of_oracle_add_the_excess_at_the_middle_price():
    assert by_policy()["gesscale"].without_changes.above_oracle_pct is None
    experiment = EXPERIMENT.changed({"policies": [*EXPERIMENT.policies, "oracle"]})
    metrics = {"node_seconds": 60.0 * 80, "lag_above_slo_s": 60.0 * 2, "reconfigurations": 4}
    oracles = [CaseResult(case=case, metrics=metrics) for case in experiment.cases() if case.policy == "oracle"]
    found = standings(experiment, [*results(), *oracles], prices=(1.0, 10.0, 100.0))
    table = {each.policy: each for each in found}
    # At 10: 100 for oracle on each load, 155.5 and 115.5 for gesscale (see above).
    assert table["gesscale"].without_changes.above_oracle_pct.mean == pytest.approx(100 * ((1.555 * 1.155) ** 0.5 - 1))
    assert table["oracle"].without_changes.above_oracle_pct.mean == 0
    assert not table["oracle"].competes
