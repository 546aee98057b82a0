"""Live against simulated results: ranks, pairs whose order differs, and separated pairs."""

from dataclasses import replace

from arena_results import an_experiment

from testbed.arena.case import Case, CaseResult
from testbed.league.report import LeagueReport

EXPERIMENT = an_experiment(policies=["ds2", "drs", "gesscale"], workloads=["steps"], seeds=2)


def run(policy, seed, minutes, late_min=0.0, lost="", **more):
    case = Case(policy=policy, workload="steps", seed=seed)
    if lost:
        return CaseResult(case=case, lost=lost)
    metrics = {
        "node_seconds": 60.0 * minutes,
        "lag_above_slo_s": 60.0 * late_min,
        "rows_lost": 0,
        "rows_doubled": 0,
        **more,
    }
    return CaseResult(case=case, metrics=metrics)


# costs at 10: ds2 10 and 12, drs 15 + 10 and 17 + 10, gesscale 26 and 22
LIVE = [
    *(run("ds2", 0, 10), run("ds2", 1, 12)),
    *(run("drs", 0, 15, late_min=1), run("drs", 1, 17, late_min=1)),
    *(run("gesscale", 0, 26), run("gesscale", 1, 22)),
]
# and 30, 30; 25, 27; 20, 20: gesscale, drs, ds2
SIMULATED = [
    *(run("ds2", seed, 30) for seed in (0, 1)),
    *(run("drs", 0, 25), run("drs", 1, 27)),
    *(run("gesscale", seed, 20) for seed in (0, 1)),
]


def report_of(live, simulated):
    return LeagueReport(experiment=EXPERIMENT, live=live, simulated=simulated, price=10.0)


def test_ranks_are_by_the_mean_cost_of_each_side():
    both = report_of(LIVE, SIMULATED)
    assert [(each.policy, each.live_rank, each.simulated_rank) for each in both.entries] == [
        ("ds2", 1, 3),
        ("gesscale", 2, 1),  # 24 on the mean
        ("drs", 3, 2),  # 26
    ]
    drs = both.entries[2]
    assert [drs.live[name].mean for name in ("total_cost", "replica_min", "late_min")] == [26.0, 16.0, 1.0]


def test_changes_and_undone_ones_are_in_tables_and_json():
    live = [run("ds2", seed, 10, reconfigurations=8, undone_changes=seed) for seed in (0, 1)]
    simulated = [run("ds2", seed, 10) for seed in (0, 1)]
    both = report_of(live, simulated)
    (entry,) = both.entries
    assert (entry.live["reconfigurations"].mean, entry.live["undone_changes"].mean) == (8.0, 0.5)
    assert (entry.simulated["reconfigurations"], entry.simulated["undone_changes"]) == (None, None)
    # 10 replica-minutes and 8 changes at the default price of 2; the simulated runs have none
    assert (entry.live["total_cost"].mean, entry.simulated["total_cost"].mean) == (26.0, 10.0)
    table, papers = both.tables()
    assert (
        dict(zip(table.headings, table.rows[0], strict=True)).items() >= {"changes": "8, –", "undone": "0.5, –"}.items()
    )
    assert {"below the load, %", "p99, s"} <= {*table.headings}
    assert "accuracy_O" in papers.headings


def test_policies_on_other_nodes_are_other_rows():
    choices = [{"name": name, "set": {"rules.node_choice": name}} for name in ("nearest", "random")]
    experiment = EXPERIMENT.changed({"variants": {"choices": [{"name": "nodes", "options": choices}]}})
    live = [
        replace(each, case=replace(each.case, variant=variant))
        for each, variant in (
            (run("ds2", 0, 10), "default"),
            (run("ds2", 0, 20), "nodes=random"),
            (run("gesscale", 0, 5), "default"),
        )
    ]
    report = LeagueReport(experiment=experiment, live=live, simulated=live, price=10.0)
    assert [(each.policy, each.live_rank) for each in report.entries] == [
        ("gesscale", 1),
        ("ds2 (nearest)", 2),
        ("ds2 (random)", 3),
    ]
    assert len(report.pairs) == 3


def test_reversed_pairs_are_found():
    both = report_of(LIVE, SIMULATED)
    pairs = {(pair.one, pair.other): pair for pair in both.pairs}
    # ds2 is less than both live, by 15 and 15, and by 16 and 10; more than both simulated
    assert pairs["ds2", "drs"].live.mean == -15.0
    assert pairs["ds2", "gesscale"].live.mean == -13.0
    assert pairs["ds2", "drs"].is_separated
    # drs less gesscale: live -1 and 5, which leaves the order open; simulated 5 and 7
    assert not pairs["drs", "gesscale"].is_separated
    assert {(pair.one, pair.other) for pair in both.pairs if pair.differs} == {("ds2", "drs"), ("ds2", "gesscale")}


def test_entries_that_reach_the_goals_are_counted():
    simulated = [
        *(run("ds2", seed, 11.5) for seed in (0, 1)),  # 11 live: 4.5 % off
        *(run("drs", seed, 17, late_min=2.1) for seed in (0, 1)),  # 16 live: 6 % off; 1.1 minutes more
        *(run("gesscale", seed, 24, late_min=1.0) for seed in (0, 1)),  # as live, but for a minute
    ]
    reached = report_of(LIVE, simulated).goals_reached
    assert (reached.cost, reached.late, reached.entries) == (2, 2, 3)


def test_only_repetitions_with_live_results_are_compared():
    live = [*LIVE[:2], run("drs", 0, 15), run("drs", 1, 0, lost="broken"), *LIVE[4:]]
    both = report_of(live, SIMULATED)
    drs = next(each for each in both.entries if each.policy == "drs")
    assert (drs.runs, drs.lost) == (2, 1)
    assert drs.live["total_cost"].mean == 15.0
    assert drs.simulated["total_cost"].mean == 25.0  # of the first repetition alone
    live = [run("ds2", 0, 10), run("drs", 0, 0, lost="broken")]
    both = report_of(live, SIMULATED)
    assert [(each.policy, each.live_rank) for each in both.entries] == [("ds2", 1), ("drs", None)]
    assert both.pairs == ()


def test_the_report_has_ranks_pairs_and_lost_runs(tmp_path):
    live = [*LIVE[:5], run("gesscale", 1, 0, lost="broken")]
    report = report_of(live, SIMULATED)
    text = report.markdown()
    assert "| drs | 2 |" in text
    assert "| gesscale | 2 (1 lost) |" in text
    assert "| steps | gesscale | 2 | broken |" in text
    report.write(tmp_path)
    assert (tmp_path / "league.md").read_text() == text
    document = report.document()
    assert [each["lost"] for each in document["runs"]["live"]].count("broken") == 1
