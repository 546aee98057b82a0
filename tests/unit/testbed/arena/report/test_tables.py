from arena_results import an_experiment

from testbed.arena.case import Case, CaseResult
from testbed.arena.evaluation.statistics import Interval
from testbed.arena.report.outcomes import PROVISIONING, Outcomes
from testbed.arena.report.tables import comparison, lost_runs, verdict_of

COST = tuple(measure for measure in PROVISIONING if measure.name == "cost")


def result(policy, seed, cost, *, workload="nyc", variant="", lost="", drained=True):
    case = Case(policy=policy, workload=workload, seed=seed, variant=variant)
    metrics = {} if lost else {"cost": cost, "drained": drained, "lag_above_slo_s": 0.0, "reconfigurations": 1}
    return CaseResult(case=case, lost=lost, metrics=metrics)


def outcomes(results, policies=("base", "other"), baseline="base", **settings):
    experiment = an_experiment(policies, ("nyc",), **settings)
    return Outcomes(experiment=experiment, results=results, baseline=baseline)


def by_name(table):
    return {row.name: row for row in table.rows}


def compared(results, **options):
    found = outcomes(results, **options)
    return by_name(comparison(found, "nyc", COST, key="k", caption="c"))


def test_a_cell_has_mean_interval_and_ratio_to_the_baseline():
    # base 20 and 40: mean 30; other 10 and 20: mean 15, half of it in every resample
    rows = compared([result("base", 0, 20), result("base", 1, 40), result("other", 0, 10), result("other", 1, 20)])
    (base,), (other,) = rows["base"].cells, rows["other"].cells
    assert (base.text, base.ratio, base.best, base.sort) == ("30", "", False, 30)
    assert (other.text, other.ratio, other.ratio_span, other.best) == ("15", "×0.5", "[0.5, 0.5]", True)
    assert other.verdict == "better"
    assert other.span == "[10, 20]"
    assert rows["base"].note == "baseline, 2 runs"


def test_the_least_is_the_best_unless_it_has_perfect_foresight_or_a_tie():
    results = [result("base", 0, 20), result("other", 0, 10), result("ideal", 0, 5)]
    rows = compared(results, policies=("base", "other", "ideal", "absent"))
    assert [name for name, row in rows.items() if row.cells[0].best] == ["other"]
    assert rows["ideal"].note == "perfect foresight, 1 run"
    assert (rows["absent"].note, rows["absent"].cells[0].text) == ("not run", "–")
    equal = compared([result("base", 0, 20), result("other", 0, 20)])
    assert not any(row.cells[0].best for row in equal.values())


def test_a_verdict_needs_the_whole_interval_on_one_side():
    def verdict(low, high):
        return verdict_of(Interval(mean=1.0, low=low, high=high, runs=9))

    assert verdict(0.8, 0.99) == "better"
    assert verdict(0.8, 1.0) == ""
    assert verdict(1.0, 1.2) == ""
    assert verdict(1.01, 1.2) == "worse"
    assert verdict_of(None) == ""


def test_lost_runs_of_the_same_reason_share_a_row():
    results = [result("base", 0, 20), *(result("other", seed, 0, lost="no") for seed in range(10))]
    table = lost_runs(outcomes([*results, result("base", 1, 0, lost="late")], seeds=10))
    assert [(row.name, row.cells[2].text, row.cells[3].text) for row in table.rows] == [
        ("base", "1", "late"),
        ("other", f"{', '.join(map(str, range(8)))} and 2 more", "no"),
    ]
    assert table.caption.startswith("11 lost runs")
    assert lost_runs(outcomes(results[:1])) is None
