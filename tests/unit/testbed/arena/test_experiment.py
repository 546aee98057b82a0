"""Experiments: reading, validation, variants, and round trips through JSON and YAML."""

import json

import pytest
import yaml
from refusals import refused

from gesscale.errors import InputError
from testbed.arena.case import Case
from testbed.arena.experiments.experiment import BUNDLED, Experiment, experiment_of, read_experiment
from testbed.arena.runner import check_experiment
from testbed.simulator.scene import CpuAccount

REQUIRED = {"name": "mine", "policies": ["static"], "workloads": ["nyc"], "nodes": {"topology": "edge8"}}
TWO_CHOICES = {
    "choices": [
        {
            "name": "cpu",
            "options": [
                {"name": "work", "set": {"metrics.cpu": "work"}},
                {"name": "all", "set": {"metrics.cpu": "work-and-waiting"}},
            ],
        },
        {
            "name": "headroom",
            "options": [
                {"name": "30"},
                {"name": "20", "set": {"rules.gesscale_2021.headroom_threshold_pct": 20}},
                {"name": "50", "set": {"rules.gesscale_2021.headroom_threshold_pct": 50}},
            ],
        },
    ]
}


def made(**settings: object) -> Experiment:
    return experiment_of({**REQUIRED, **settings}, "mine.yaml")


def test_bundled_experiments_survive_json_and_yaml():
    names = [path.stem for path in BUNDLED.glob("*.yaml")]
    for name in names:
        experiment = read_experiment(name)
        assert (experiment.name, bool(experiment.title)) == (name, True)
        document = experiment.document()
        assert experiment_of(json.loads(json.dumps(document, sort_keys=True)), "json") == experiment
        assert experiment_of(yaml.safe_load(yaml.safe_dump(document)), "yaml") == experiment


def test_cases_are_all_combinations_grouped_by_world():
    experiment = made(policies=["static", "gesscale"], workloads=["nyc", "steps"], seeds=2)
    # 2 workloads x 2 seeds x 2 policies, the policy changes fastest
    assert len(experiment.cases()) == 8
    assert experiment.cases()[:3] == (
        Case(workload="nyc", seed=0, policy="static"),
        Case(workload="nyc", seed=0, policy="gesscale"),
        Case(workload="nyc", seed=1, policy="static"),
    )


def test_one_at_a_time_changes_a_single_choice():
    experiment = made(variants=TWO_CHOICES)
    assert experiment.variant_names == ("default", "cpu=all", "headroom=20", "headroom=50")
    changed = experiment.variant("headroom=20")
    assert changed.rules.gesscale_2021.headroom_threshold_pct == 20
    assert changed.metrics.cpu is CpuAccount.WORK
    assert changed.variant_names == ("",)


def test_settings_can_be_changed_by_their_path():
    changed = made().changed(
        {"operators.operator.max_replicas": 4, "seeds": [3], "rules.gesscale_2021.recovery_target": "5m"}
    )
    assert changed.operators["operator"].max_replicas == 4
    assert changed.seed_list == (3,)
    assert changed.rules.gesscale_2021.recovery_target_s == 300.0


@pytest.mark.parametrize(
    ("settings", "code", "place"),
    [
        ({"seeds": 0}, "seeds-invalid", "seeds"),
        ({"seeds": [1, 1]}, "seeds-invalid", "seeds"),
        ({"seeds": True}, "seeds-invalid", "seeds"),
        ({"engine": "storm"}, "setting-invalid", "engine"),
        ({"policies": []}, "setting-invalid", "policies"),
        ({"policies": ["static", "static"]}, "names-not-distinct", "policies"),
        ({"polices": ["static"]}, "setting-unknown", "polices"),
        ({"metrics": {"warmup": 1}}, "setting-unknown", "metrics.warmup"),
        ({"peak_share": float("nan")}, "setting-invalid", "peak_share"),
        ({"period": "soon"}, "duration-invalid", "period"),
        ({"nodes": {}}, "nodes-source-ambiguous", "nodes"),
        ({"nodes": {"topology": "edge8", "map": "x.csv"}}, "nodes-source-ambiguous", "nodes"),
        ({"nodes": {"generated": {}}}, "node-count-required", "nodes"),
        ({"nodes": {"generated": {"low_ms": 9, "high_ms": 5}, "count": 3}}, "delay-range-reversed", "nodes.generated"),
        ({"operators": {"a": {"initial_replicas": 9}}}, "initial-replicas-limit", "operators.a"),
        (
            {"operators": {"a": {"initial_replicas": "warm"}}},
            "initial-replicas-invalid",
            "operators.a.initial_replicas",
        ),
        ({"rules": {"policy": "static"}}, "setting-invalid", "rules.policy"),
        (
            {"faults": {"failures": [{"node": "edge1", "from": 60, "until": 60}]}},
            "fault-times-reversed",
            "faults.failures.0",
        ),
        ({"reference": {"source": "x", "figures": {"static": {"price": 3}}}}, "reference-metric-unknown", "reference"),
        ({"operators": {"a": {}, "b": {"upstream": ["a"], "load_share": 0.5}}}, "load-share-upstream", "operators.b"),
        ({"operators": {"a": {"retention": "5m"}}}, "retention-unsupported", "operators.a.retention"),
        (
            {"engine": "flink", "operators": {"a": {}, "b": {"upstream": ["a"], "retention": "5m"}}},
            "retention-unsupported",
            "operators.b.retention",
        ),
    ],
)
def test_an_invalid_setting_is_named_with_its_place(settings, code, place):
    with refused(code, InputError, source="mine.yaml", place=place):
        made(**settings)


@pytest.mark.parametrize(
    ("changes", "code", "fields"),
    [
        ({"seeds": 3}, "experiment-setting-fixed", {"setting": "seeds"}),
        ({"metrics.colour": "red"}, "setting-unknown", {"place": "metrics.colour"}),
        ({"metrics.cpu": "red"}, "setting-invalid", {"place": "metrics.cpu"}),
    ],
)
def test_an_invalid_variant_is_found_when_the_experiment_is_read(changes, code, fields):
    options = [{"name": "a"}, {"name": "b", "set": changes}]
    with refused(code, InputError, source="experiment mine, variant x=b", **fields):
        made(variants={"choices": [{"name": "x", "options": options}]})


@pytest.mark.parametrize("text", ["- a\n- b\n", "just words", "", "7"])
def test_yaml_that_is_no_mapping_is_rejected(tmp_path, text):
    file = tmp_path / "mine.yaml"
    file.write_text(text, "utf-8")
    with refused("experiment-malformed", InputError, source=f"experiment {file}"):
        read_experiment(file)


def test_files_next_to_the_experiment_are_found(tmp_path):
    (tmp_path / "load.csv").write_text("t_s,rows_per_s\n0,1\n", "utf-8")
    (tmp_path / "mine.py").write_text("build = print\n", "utf-8")
    (tmp_path / "pi.yaml").write_text("about: a\nfigures: {}\n", "utf-8")
    (tmp_path / "map.csv").write_text("rtt_ms,a,b\na,0,5\nb,5,0\n", "utf-8")
    document = {
        **REQUIRED,
        "policies": ["static", "mine.py:build"],
        "workloads": ["nyc:any", "load.csv"],
        "nodes": {"map": "map.csv"},
        "operators": {"a": {"physics": "pi.yaml"}, "b": {"upstream": ["a"]}},
    }
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(document), "utf-8")
    experiment = read_experiment(file)
    assert experiment.policies == ("static", f"{tmp_path / 'mine.py'}:build")
    assert experiment.workloads == ("nyc:any", str(tmp_path / "load.csv"))
    assert experiment.nodes.map == str(tmp_path / "map.csv")
    assert experiment.operators["a"].physics == str(tmp_path / "pi.yaml")


def test_reading_an_experiment_runs_no_code_of_a_policy(tmp_path):
    (tmp_path / "theirs.py").write_text("raise SystemExit('it ran')\n", "utf-8")
    document = {**REQUIRED, "policies": ["theirs.py:POLICY"], "rules": {"theirs": {"level": 2}}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(document), "utf-8")
    experiment = read_experiment(tmp_path / "mine.yaml")
    assert experiment_of(experiment.document(), "again") == experiment
    assert experiment.document()["rules"]["theirs"] == {"level": 2}
    with pytest.raises(InputError, match="SystemExit: it ran"):
        check_experiment(experiment)


# One experiment that extends another


def extending(tmp_path, **own: object) -> Experiment:
    base = {**REQUIRED, "title": "of mine", "operators": {"a": {"max_replicas": 4}, "b": {"upstream": ["a"]}}}
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(base), "utf-8")
    (tmp_path / "child.yaml").write_text(yaml.safe_dump({"extends": "base.yaml", **own}), "utf-8")
    return read_experiment(tmp_path / "child.yaml")


def test_an_extending_experiment_overrides_settings(tmp_path):
    found = extending(
        tmp_path, seeds=3, **{"operators.a.initial_replicas": 2, "rules.gesscale_2021.headroom_threshold_pct": 20}
    )
    assert (found.seeds, found.rules.gesscale_2021.headroom_threshold_pct) == (3, 20)
    assert (found.operators["a"].initial_replicas, found.operators["a"].max_replicas) == (2, 4)
    assert found.operators["b"].upstream == ("a",)
    assert (found.policies, found.nodes.topology) == (("static",), "edge8")


@pytest.mark.parametrize("base", ["child.yaml", 7, ["standard"]])
def test_an_experiment_cannot_extend_itself(tmp_path, base):
    with refused("experiment-extends-invalid", InputError, place="extends"):
        extending(tmp_path, extends=base)


def test_the_worlds_of_the_edge_share_policies_loads_and_near_nodes():
    names = ("edge", "edge-map", "edge-q5", "edge-chain", "edge-unequal", "edge-cut-off", "edge-delays")
    edge, *others = (read_experiment(name) for name in names)
    for each in others:
        assert (each.policies, each.workloads, each.seeds) == (edge.policies, edge.workloads, 3)
        assert {each.variant(name).rules.node_choice for name in each.variant_names} == {"nearest"}
        assert check_experiment(each.changed({"workloads": ["steps"]})) == ()
    assert edge.variant_names == ("default", "nodes=random")
    assert len(edge.workloads) == 18
    assert {op.trigger_s for each in others for op in each.operators.values()} == {1, 2, 10, None}
    assert None in {op.cap_rows_per_replica for each in others for op in each.operators.values()}
