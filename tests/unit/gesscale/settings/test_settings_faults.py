"""What is wrong with settings is said: where it came from, which setting, what was expected, what came."""

from pathlib import Path
from typing import Any

import pytest
from settings_files import SMALLEST, Load, faults, operators

from gesscale.errors import SettingsError
from gesscale.settings import load_settings


@pytest.mark.parametrize("key", ["latency_map.file", "knowledge.file", "analyze.rules.file"])
def test_a_path_that_no_system_takes_is_refused(load: Load, key: str) -> None:
    (fault,) = faults(load, overrides=(f'{key}="a\\0b"',))
    assert f"{key}: expected the path of a file, which has no character 0" in fault


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("analyze.headroom_threshold_pct", "true"),
        ("analyze.seed", "yes"),
        ("plan.max_changing_operators", "off"),  # a number or none
    ],
)
def test_a_truth_value_is_no_number(load: Load, key: str, written: str) -> None:
    (fault,) = faults(load, overrides=(f"{key}={written}",))
    assert f"{key}: expected a number, got {written in ('true', 'yes')}" in fault


def test_a_key_of_several_lines_stays_on_one(load: Load) -> None:
    (fault,) = faults(load, monitor={"per\niod": 1})
    assert "monitor.'per\\niod': there is no such setting" in fault


def test_every_fault_is_listed_with_where_it_came_from(load: Load, tmp_path: Path) -> None:
    found = faults(
        load,
        overrides=("monitor.window=5x",),
        environ={"GESSCALE_ANALYZE__SEED": "-1", "GESSCALE_MONITR__PERIOD": "1"},
        monitor={"perod": 3},
        workflow=operators(min_replica=2),
    )
    path = tmp_path / "gesscale.yaml"
    assert sorted(found) == sorted(
        [
            "option: monitor.window: expected a positive duration such as 30, '250ms', '30s', '5m', '1h' or "
            "'7d', 1ms to 3650d, got '5x'",
            "environment: analyze.seed: expected greater than or equal to 0, got -1",
            "environment: monitr: there is no such setting; did you mean 'monitor'?",
            f"{path}: monitor.perod: there is no such setting; did you mean 'period'?",
            f"{path}: workflow.operators.nearest.min_replica: there is no such setting; "
            "did you mean 'min_replicas'?",
        ]
    )


def test_an_unknown_key_like_no_other_gets_the_list_of_keys(load: Load) -> None:
    (fault,) = faults(load, plan={"zzz": 1})
    assert fault.endswith(
        "plan.zzz: there is no such setting; known here: exclude_nodes, max_changing_operators, rescale_timeout"
    )


def test_the_prometheus_server_of_the_map_is_that_of_the_metrics_unless_told(load: Load) -> None:
    shared = load(monitor={"prometheus_url": "http://p:9090"}, latency_map={"source": "prometheus"})
    assert shared.latency_map.prometheus_url is None
    own = load(latency_map={"source": "prometheus", "prometheus_url": "http://q:9090"})
    assert own.latency_map.prometheus_url == "http://q:9090"


def test_a_map_may_never_grow_too_old(load: Load) -> None:
    assert load().latency_map.max_age_s == 86400
    assert load(latency_map={**SMALLEST["latency_map"], "max_age": None}).latency_map.max_age_s is None


def test_an_operator_may_be_named_like_a_setting(load: Load) -> None:
    wrong = {"operators": {"kafka": {**SMALLEST["workflow"]["operators"]["nearest"], "max_replica": 2}}}
    (fault,) = faults(load, workflow=wrong)
    assert fault.endswith(
        "workflow.operators.kafka.max_replica: there is no such setting; did you mean 'max_replicas'?"
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"latency_map": {"unit": "ms"}}, "latency_map: source file needs file, such as latency.csv"),
        ({"latency_map": {"source": "agents"}}, "latency_map: source agents needs either agents, such as"),
        (
            {"latency_map": {"source": "agents", "agents_dns": "agents:http"}},
            "latency_map.agents_dns: expected HOST or HOST:PORT with a port of 0 to 65535, got 'agents:http'",
        ),
        (
            {"latency_map": {"source": "agents", "agents": ["http://e:9109"], "agents_dns": "e:9109"}},
            "latency_map: source agents needs either agents, such as",
        ),
        (
            {"latency_map": {"source": "agents", "agents": ["http://edge1:9109", "edge2:9109"]}},
            "latency_map.agents.1: expected an address such as http://10.0.0.1:9090, got 'edge2:9109'",
        ),
        (
            {"latency_map": {"source": "agents", "agents": ["http://[fe80::1%eth0]:9109"]}},
            "latency_map.agents.0: expected an address without user name, query and escapes, such as "
            "http://10.0.0.1:9090, got 'http://[fe80::1%eth0]",
        ),
        (
            {"latency_map": {"source": "prometheus"}},
            "latency_map.source prometheus needs latency_map.prometheus_url or monitor.prometheus_url",
        ),
        (
            {"latency_map": {"file": "a.csv", "max_age": 0}},
            "latency_map.max_age: expected a positive duration",
        ),
        ({"monitor": 3}, "monitor: expected a group of settings, got 3"),
        (
            {"monitor": {"window": "10m", "history": "5m"}},
            "monitor: expected window <= history, got 600 s and 300 s",
        ),
        ({"monitor": {"source": "prometheus"}}, "monitor: source prometheus needs prometheus_url"),
        ({"monitor": {"source": "promtheus"}}, "monitor.source: expected 'driver' or 'prometheus'"),
        (
            {"monitor": {"source": "prometheus", "prometheus_url": "prom:9090"}},
            "monitor.prometheus_url: expected an address such as http://10.0.0.1:9090, got 'prom:9090'",
        ),
        ({"analyze": {"policy": "gescale"}}, "analyze.policy: expected one of "),
        ({"analyze": {"cpu_low_pct": 95}}, "analyze: expected cpu_low_pct < cpu_high_pct, got 95 and 90"),
        ({"analyze": {"back_pressure_threshold": 30}}, "expected less than 1, got 30"),
        ({"execute": {"mode": "act"}}, "execute: mode act needs a cluster"),
        ({"workflow": {"operators": {}}}, "workflow: a workflow needs operators with distinct names, got []"),
        ({"workflow": operators(min_replicas=9)}, "'nearest': expected 1 <= min_replicas <= max_replicas"),
        ({"workflow": operators(upstream=["clean"])}, "upstream 'clean' is not an operator of the workflow"),
        ({"workflow": operators(upstream=["nearest"])}, "a workflow has no cycles"),
        (
            {"workflow": operators(batch_cap_rows=10, batch_cap_rows_per_replica=10)},
            "workflow.operators.nearest: expected batch_cap_rows or batch_cap_rows_per_replica, got both",
        ),
        (
            {"workflow": {"operators": {"nearest": {"driver_node": "edge1"}}}},
            "monitor.source driver needs metrics_url of every operator, missing at nearest",
        ),
    ],
)
def test_what_is_wrong_is_said(load: Load, given: dict[str, Any], expected: str) -> None:
    (fault,) = faults(load, **given)
    assert expected in fault


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n- b", ": expected groups of settings such as `monitor:`, got ['a', 'b']"),
        ("monitor: [", ", line 2, column 1: expected YAML, got: "),
        ("a: b: c", ", line 1, column 5: expected YAML, got: "),
        ("monitor: {}\nmonitor: {}", ", line 2, column 1: expected YAML, got: the key 'monitor' twice"),
    ],
)
def test_a_file_that_is_no_settings_file_is_named(load: Load, text: str, expected: str) -> None:
    with pytest.raises(SettingsError, match=rf"settings file .*gesscale\.yaml{expected}".replace("[", r"\[")):
        load(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.yaml: No such file or directory; name an existing YAML"):
        load_settings(tmp_path / "none.yaml", (), {})
    with pytest.raises(SettingsError, match="Is a directory"):
        load_settings(tmp_path, (), {})
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match=r"binary\.yaml: expected text in UTF-8"):
        load_settings(binary, (), {})


@pytest.mark.parametrize("override", ["monitor.period", "=30s", "monitor.period: 30s"])
def test_an_option_without_name_and_value_is_refused(load: Load, override: str) -> None:
    with pytest.raises(SettingsError, match=r"expected an option such as monitor\.period=30s, got"):
        load(overrides=(override,))


def test_a_value_that_is_no_yaml_names_its_variable(load: Load) -> None:
    with pytest.raises(
        SettingsError, match=r"^GESSCALE_EXECUTE__CLUSTER, line 2, .* YAML, .*, or quote '\{'$"
    ):
        load(environ={"GESSCALE_EXECUTE__CLUSTER": "{"})
    with pytest.raises(
        SettingsError, match=r"^option 'execute.cluster', line 2, .* YAML, .*, or quote '\{'$"
    ):
        load(overrides=("execute.cluster={",))
