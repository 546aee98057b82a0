"""Old names: refused in settings and resources with the new one, read in records and knowledge files."""

import json
from dataclasses import fields
from pathlib import Path

import pytest
from pydantic import BaseModel

from gesscale.errors import InputError, SettingsError
from gesscale.fields import model_within
from gesscale.knowledge.cells import CellError, DecisionRow, checked
from gesscale.kubernetes.resource.autoscaler import read_autoscaler
from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec
from gesscale.model.decision import Analysis, Reason
from gesscale.monitor.record_lines import decision_of
from gesscale.renamed import SETTINGS, VALUES, decision_with_new_names, settings_with_new_names
from gesscale.settings import load_settings
from gesscale.settings.groups import Settings
from testbed.arena.experiments.experiment import Experiment, experiment_of

DAY = Path(__file__).parents[2] / "data" / "records" / "day_of_gesscale"
MINIMAL = ("workflow.operators.op.driver_node=hub",)


def names_of(model: type[BaseModel]) -> set[str]:
    found = set()
    for name, field in model.model_fields.items():
        found.add(field.alias or name)
        group = model_within(field.annotation)
        found |= names_of(group) if group is not None else set()
    return found


def test_each_new_name_is_known_and_no_old_one_is():
    known = names_of(Settings) | names_of(StreamAutoscalerSpec) | names_of(Experiment)
    assert set(SETTINGS.values()) <= known
    assert not set(SETTINGS) & known


@pytest.mark.parametrize(
    ("setting", "new"),
    [
        ("analyze.hold_off=5m", "stabilization_window"),
        ("analyze.slack_threshold_pct=20", "headroom_threshold_pct"),
        ("plan.settle_timeout=60s", "rescale_timeout"),
        ("analyze.ds2.most_up=3", "max_step_up"),
        ("analyze.hpa_cpu.scale_down_window=60s", "scale_down_stabilization"),
    ],
)
def test_a_setting_with_an_old_name_is_refused_with_the_new_one(setting, new):
    with pytest.raises(SettingsError) as caught:
        load_settings(None, (*MINIMAL, setting), {})
    (line,) = [line for line in str(caught.value).split("\n") if "now" in line]
    name = setting.partition("=")[0]
    assert line.endswith(f"{name}: this setting is called {new} now")


def test_a_setting_with_an_old_value_is_refused_with_the_new_one():
    with pytest.raises(SettingsError, match=r"analyze.node_choice: drawn is called random now$"):
        load_settings(None, (*MINIMAL, "analyze.node_choice=drawn"), {})


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            {"policy": {"holdOff": "5m"}},
            "spec.policy.holdOff: this setting is called stabilizationWindow now",
        ),
        (
            {"reconfiguration": {"settleTimeout": "5m"}},
            "spec.reconfiguration.settleTimeout: this setting is called rescaleTimeout now",
        ),
        ({"policy": {"nodeChoice": "drawn"}}, "spec.policy.nodeChoice: drawn is called random now"),
    ],
)
def test_a_resource_with_an_old_name_is_refused_with_the_new_one(spec, said):
    with pytest.raises(InputError) as caught:
        read_autoscaler({"metadata": {"name": "op"}, "spec": spec})
    assert str(caught.value).endswith(said)
    assert "\n" not in str(caught.value)


def test_an_old_name_where_it_never_was_is_no_setting():
    with pytest.raises(SettingsError, match=r"monitor.hold_off: there is no such setting; known here: "):
        load_settings(None, (*MINIMAL, "monitor.hold_off=5m"), {})


def test_an_experiment_with_an_old_name_is_refused_with_the_new_one():
    with pytest.raises(InputError, match=r"settle_timeout: this setting is called rescale_timeout now"):
        experiment_of({"settle_timeout": "60s"}, "mine.yaml")


def test_the_settings_of_a_record_are_read_with_their_old_names():
    with pytest.raises(SettingsError, match="this setting is called rescale_timeout now"):
        load_settings(DAY / "gesscale.yaml", (), {})
    assert load_settings(DAY / "gesscale.yaml", (), {}, is_record=True).plan.rescale_timeout_s == 60.0


def test_new_names_stay_as_they_are():
    new = {"plan": {"rescale_timeout": 5}, "analyze": {"node_choice": "nearest"}, "x": [1], "y": None}
    assert settings_with_new_names(new) == new


def test_a_recorded_decision_is_read_with_its_old_names():
    old = json.loads((DAY / "decisions.jsonl").read_text(encoding="utf-8").split("\n")[0])
    assert "slack_pct" in old["analysis"]
    old["plan"]["rejections"] = [{"node": "far", "reason": "NotDrawn", "detail": ""}]
    live = decision_of(old)
    assert live.rejections == {"far": (Reason.NOT_SELECTED.value, "")}
    assert live.document is old


def test_nodes_that_are_only_named_are_read_with_the_reason_they_share():
    recorded = json.loads((DAY / "decisions.jsonl").read_text(encoding="utf-8").split("\n")[0])
    others = {"others": 2, "other_nodes": ["b", "c"]}
    recorded["plan"]["rejections"] = [
        {"node": "a", "reason": "Cordoned", "detail": "it is cordoned", **others}
    ]
    assert decision_of(recorded).rejections == {
        "a": ("Cordoned", "it is cordoned"),
        "b": ("Cordoned", ""),
        "c": ("Cordoned", ""),
    }


def test_a_kept_decision_is_read_with_its_old_names():
    old = json.loads((DAY / "decisions.jsonl").read_text(encoding="utf-8").split("\n")[0])
    row = {
        "id": 1, "operator": old["operator"], "at_s": old["at_s"], "policy": old["policy"], "reason": old["reason"],
        "acted": int(old["acted"]), "document": json.dumps(old),
    }  # fmt: skip
    assert checked(DecisionRow, row).document.analysis.headroom_pct == old["analysis"]["slack_pct"]
    del old["analysis"]["slack_pct"]
    with pytest.raises(CellError, match="headroom_pct"):
        checked(DecisionRow, {**row, "document": json.dumps(old)})


@pytest.mark.parametrize(
    "document",
    [None, [], "text", {}, {"analysis": 3, "plan": "x"}, {"plan": {"rejections": [1, {"reason": []}, {}]}}],
)
def test_what_is_no_decision_is_left_alone(document):
    assert decision_with_new_names(document) == document


def test_figures_of_analyses_have_their_new_names():
    document = {"analysis": {"slack_pct": 1.0, "wanted_replicas": 2}}
    assert decision_with_new_names(document)["analysis"].keys() <= {each.name for each in fields(Analysis)}


def test_old_values_are_of_settings_that_exist():
    assert {name for name, _ in VALUES} <= names_of(Settings) | names_of(StreamAutoscalerSpec)
