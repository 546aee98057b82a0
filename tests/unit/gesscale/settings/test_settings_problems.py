"""Problems of settings: source, setting, code and figures."""

from pathlib import Path
from typing import Any

import pytest
from refusals import refused
from settings_files import Load, operators, problem, problems

from gesscale.errors import SettingsError
from gesscale.settings import load_settings


@pytest.mark.parametrize("key", ["latency_map.file", "knowledge.file", "analyze.rules.file"])
def test_a_path_with_a_zero_byte_is_refused(load: Load, key: str) -> None:
    found = problem(load, overrides=(f'{key}="a\\0b"',))
    assert (found.code, found.fields["place"]) == ("path-invalid", key)


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("analyze.cpu_high_pct", "true"),
        ("analyze.seed", "yes"),
        ("plan.max_changing_operators", "off"),  # a number or none
    ],
)
def test_a_truth_value_is_no_number(load: Load, key: str, written: str) -> None:
    found = problem(load, overrides=(f"{key}={written}",))
    assert (found.code, found.fields["place"]) == ("number-is-boolean", key)
    assert found.fields["got"] is (written in ("true", "yes"))


def test_every_problem_is_listed_with_its_source(load: Load, tmp_path: Path) -> None:
    found = problems(
        load,
        overrides=("monitor.window=5x",),
        environ={"GESSCALE_ANALYZE__SEED": "-1", "GESSCALE_MONITR__PERIOD": "1"},
        monitor={"perod": 3, "per\niod": 1},
        workflow=operators(min_replica=2),
    )
    file = str(tmp_path / "gesscale.yaml")
    places = {(each.code, each.fields["source"], each.fields["place"]): each.fields.get("nearest") for each in found}
    assert len(places.pop(("setting-unknown", file, "monitor.'per\\niod'"))) >= 1
    assert places == {
        ("duration-invalid", "option", "monitor.window"): None,
        ("setting-invalid", "environment", "analyze.seed"): None,
        ("setting-unknown", "environment", "monitr"): ["monitor"],
        ("setting-unknown", file, "monitor.perod"): ["period"],
        ("setting-unknown", file, "workflow.operators.nearest.min_replica"): ["min_replicas"],
    }


def test_an_old_name_is_an_unknown_one(load: Load) -> None:
    found = problem(load, plan={"settle_timeout": "60s"})
    assert (found.code, found.fields["nearest"]) == ("setting-unknown", ["rescale_timeout"])


OF_FILE = {"setting": "source", "value": "file", "one_of": ("file",)}
ADDRESS = "http://[fe80::1%eth0]:9109"


@pytest.mark.parametrize(
    ("given", "code", "fields"),
    [
        ({"latency_map": {"unit": "ms"}}, "setting-dependency-missing", {"place": "latency_map", **OF_FILE}),
        ({"latency_map": {"source": "agents"}}, "agents-ambiguous", {"place": "latency_map"}),
        (
            {"latency_map": {"source": "agents", "agents": ["http://e:9109"], "agents_dns": "e:9109"}},
            "agents-ambiguous",
            {"place": "latency_map"},
        ),
        (
            {"latency_map": {"source": "agents", "agents": ["http://edge1:9109", "edge2:9109"]}},
            "address-invalid",
            {"place": "latency_map.agents.1", "got": "edge2:9109"},
        ),
        (
            {"latency_map": {"source": "agents", "agents": [ADDRESS]}},
            "address-has-extras",
            {"place": "latency_map.agents.0", "got": ADDRESS},
        ),
        (
            {"latency_map": {"source": "prometheus"}},
            "setting-dependency-missing",
            {
                "setting": "latency_map.source",
                "value": "prometheus",
                "one_of": ("latency_map.prometheus_url", "monitor.prometheus_url"),
            },
        ),
        ({"latency_map": {"file": "a.csv", "max_age": 0}}, "duration-invalid", {"place": "latency_map.max_age"}),
        ({"monitor": 3}, "setting-invalid", {"place": "monitor", "got": 3}),
        (
            {"monitor": {"window": "10m", "history": "5m"}},
            "settings-out-of-order",
            {"place": "monitor", "low": "window", "high": "history", "got_low": 600, "got_high": 300},
        ),
        ({"monitor": {"source": "prometheus"}}, "setting-dependency-missing", {"one_of": ("prometheus_url",)}),
        ({"monitor": {"source": "promtheus"}}, "setting-invalid", {"place": "monitor.source", "got": "promtheus"}),
        (
            {"monitor": {"source": "prometheus", "prometheus_url": "prom:9090"}},
            "address-invalid",
            {"place": "monitor.prometheus_url", "got": "prom:9090"},
        ),
        (
            {"analyze": {"cpu_low_pct": 95}},
            "settings-out-of-order",
            {"place": "analyze", "low": "cpu_low_pct", "sign": "<", "got_low": 95, "got_high": 90},
        ),
        ({"analyze": {"gesscale_2021": {"back_pressure_threshold": 30}}}, "setting-invalid", {"got": 30}),
        ({"execute": {"mode": "act"}}, "cluster-required", {"place": "execute"}),
        ({"workflow": {"operators": {}}}, "operators-not-distinct", {"place": "workflow", "operators": []}),
        ({"workflow": operators(min_replicas=9)}, "replica-limits-invalid", {"operator": "nearest", "min_replicas": 9}),
        ({"workflow": operators(upstream=["clean"])}, "upstream-unknown", {"operator": "nearest", "upstream": "clean"}),
        ({"workflow": operators(upstream=["nearest"])}, "workflow-cyclic", {"cycle": "nearest -> nearest"}),
        (
            {"workflow": operators(batch_cap_rows=10, batch_cap_rows_per_replica=10)},
            "batch-cap-ambiguous",
            {"place": "workflow.operators.nearest"},
        ),
        (
            {"workflow": {"operators": {"nearest": {"driver_node": "edge1"}}}},
            "metrics-url-missing",
            {"operators": ["nearest"]},
        ),
    ],
)
def test_a_wrong_setting_has_a_code_and_figures(
    load: Load, given: dict[str, Any], code: str, fields: dict[str, Any]
) -> None:
    found = problem(load, **given)
    assert found.code == code
    assert fields.items() <= found.fields.items()


def test_an_unknown_policy_and_an_address_without_port_name_their_setting(load: Load) -> None:
    assert problem(load, analyze={"policy": "gescale"}).fields["place"] == "analyze.policy"
    given = {"source": "agents", "agents_dns": "agents:http"}
    assert problem(load, latency_map=given).fields["place"] == "latency_map.agents_dns"


@pytest.mark.parametrize("text", ["- a\n- b", "monitor: [", "a: b: c", "monitor: {}\nmonitor: {}"])
def test_a_file_that_is_no_settings_file_is_named(load: Load, text: str) -> None:
    with pytest.raises(SettingsError, match=r"gesscale\.yaml"):
        load(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "none.yaml", tmp_path, binary):
        with pytest.raises(SettingsError, match=str(path)):
            load_settings(path, (), {})


@pytest.mark.parametrize(
    ("override", "code"),
    [
        ("monitor.period", "setting-option-malformed"),
        ("=30s", "setting-option-malformed"),
        ("execute.cluster={", "settings-text-invalid"),
    ],
)
def test_an_option_without_name_and_value_is_refused(load: Load, override: str, code: str) -> None:
    with refused(code, SettingsError):
        load(overrides=(override,))


def test_a_value_that_is_no_yaml_names_its_variable(load: Load) -> None:
    with refused("settings-text-invalid", SettingsError, source="GESSCALE_EXECUTE__CLUSTER"):
        load(environ={"GESSCALE_EXECUTE__CLUSTER": "{"})
