"""The experiment of the arena and the settings of the live loop match."""

from dataclasses import replace

import pytest
from refusals import refused

from gesscale.policies import policy_names
from testbed.arena.case import Case
from testbed.arena.names import ChosenNodes
from testbed.arena.worlds.scenes import world_of
from testbed.cluster.topology import read_topology
from testbed.league.settings import LeagueSettings, demand_duration_s, demand_of
from testbed.live.scenario import prepare_settings
from testbed.workloads.workload import Workload

POLICIES = ("gesscale", "gesscale-2021", "ds2", "drs", "hpa-varga")
SETTINGS = LeagueSettings(policies=POLICIES, loads=("nyc-day", "steps"), repetitions=2, length_s=900.0, query="rides")


def test_figures_in_seconds_follow_the_length_of_the_day():
    scenario, rules = SETTINGS.scenario, SETTINGS.experiment.rules
    assert scenario.period_s == 37.5  # an hour of a day of 900 s
    assert scenario.slo_s == 75.0  # two periods
    # periods for minutes: 5, 5, 10
    assert rules.ds2.cooldown_s == rules.hpa_varga.scale_down_stabilization_s == 187.5
    assert rules.gesscale_2021.recovery_target_s == 375.0
    assert rules.gesscale.change_price == 1.25  # 2
    # times below a minute are Spark's
    assert (rules.daedalus.loop_s, rules.daedalus.downtime_out_s) == (37.5, 30.0)
    # the default rule waits for two minutes, within two
    hot = next(rule for rule in rules.rules.rules if rule.name == "hot")
    assert (hot.when[0].for_s, hot.unless[0].within_s) == (75.0, 75.0)


def test_policies_with_their_own_choice_of_nodes_run_once():
    cases = LeagueSettings(policies=("gesscale", "ds2"), loads=("steps",), repetitions=1).cases
    assert [(case.policy, case.variant) for case in cases] == [
        ("gesscale", "default"),
        ("ds2", "default"),
        ("ds2", "nodes=random"),
    ]
    nodes = (ChosenNodes.RANDOM,)
    cases = LeagueSettings(policies=("gesscale", "ds2"), loads=("steps",), repetitions=1, nodes=nodes).cases
    assert [(case.policy, case.variant) for case in cases] == [("gesscale", "default"), ("ds2", "nodes=random")]


@pytest.mark.parametrize("policy", policy_names())
def test_live_and_simulated_loop_have_the_same_settings(policy, tmp_path):
    experiment = SETTINGS.experiment
    scenario = replace(SETTINGS.scenario, policy=policy)
    settings = prepare_settings(scenario, read_topology("edge8"), tmp_path)
    assert settings.monitor.period_s == experiment.period_s
    assert settings.monitor.min_period_s == experiment.min_period_s
    assert settings.monitor.window_s == experiment.metrics.window_s
    assert settings.monitor.history_s == experiment.metrics.history_s
    assert settings.monitor.stale_after_s == experiment.metrics.stale_after_s
    assert settings.plan.rescale_timeout_s == experiment.rescale_timeout_s
    assert settings.workflow.slo_s == experiment.slo_s
    group = policy.replace("-", "_")
    own = (getattr(each, group, None) for each in (settings.analyze, experiment.rules))
    assert len(set(map(repr, own))) == 1
    operator = settings.workflow.build().operators["nearest"]
    case = Case(policy=policy, workload="steps", seed=0, variant="default")
    simulated = world_of(experiment, case).scene.workflow.operators["nearest"]
    assert (operator.cap, operator.max_replicas) == (simulated.cap, simulated.max_replicas)


def test_peaks_need_80_percent_of_five_replicas():
    for workload in SETTINGS.loads:
        load = world_of(
            SETTINGS.experiment, Case(policy="ds2", workload=workload, seed=0, variant="default")
        ).scene.workloads["nearest"]
        assert load.duration_s == pytest.approx(900.0)
        # Five replicas carry 1813 rows/s by the simulator's constants. The demo's peak is 2 % lower: 22,500 passengers
        # in half an hour, 5 s long, 0.105 rides each, three copies: 1418 rows/s.
        assert load.peak_rows_per_s == pytest.approx(0.8 * 1813, rel=1e-3)


def test_a_load_becomes_rides_for_its_rows():
    load = Workload.of_rates("made", 0.5, [10.0, 0.0, 30.0, 31.0])
    demand = demand_of(load, 3)
    # rows offered by the ends of the steps: 5, 5, 20, 35.5; in rides of three: 1.7, 1.7, 6.7, 11.8, rounded
    assert demand.passengers == (2, 0, 5, 5)
    assert demand_duration_s(demand) == 4 * 1800


def test_nexmark_has_the_same_time_scale_and_its_own_operator(tmp_path):
    setting = LeagueSettings(policies=("ds2",), loads=("steps",), length_s=240.0, query="q5")
    scenario = replace(setting.scenario, policy="ds2")
    assert (scenario.period_s, scenario.slo_s, scenario.max_replicas) == (10.0, 20.0, 3)
    simulated = world_of(setting.experiment, Case(policy="ds2", workload="steps", seed=0, variant="default"))
    operator = prepare_settings(scenario, read_topology("edge8"), tmp_path).workflow.build().operators["q5"]
    assert operator.batch_rows(2) == simulated.scene.workflow.operators["q5"].batch_rows(2) == 600
    assert simulated.scene.workloads["q5"].duration_s == pytest.approx(240.0)


@pytest.mark.parametrize(
    ("given", "code", "fields"),
    [
        ({"query": "q99"}, "query-unknown", {"got": "q99"}),
        ({"policies": ("oracle",)}, "policy-simulated-only", {"policy": "oracle"}),
    ],
)
def test_what_cannot_run_live_is_refused(given, code, fields):
    with refused(code, **fields):
        _ = LeagueSettings(**{"policies": ("ds2",), "loads": ("steps",), **given}).experiment
