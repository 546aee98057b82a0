"""What is wrong with settings is said: where it came from, which setting, what was expected, what came."""

import re
from pathlib import Path
from typing import Any

import pytest
from settings_files import Load, faults, operators

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


def test_every_fault_is_listed_with_where_it_came_from(load: Load) -> None:
    found = faults(
        load,
        overrides=("monitor.window=5x",),
        environ={"GESSCALE_ANALYZE__SEED": "-1", "GESSCALE_MONITR__PERIOD": "1"},
        monitor={"perod": 3, "per\niod": 1},
        workflow=operators(min_replica=2),
    )
    assert len(found) == 6
    for said in (
        r"^option: monitor\.window: .*'5x'",
        r"^environment: analyze\.seed: .*-1",
        r"^environment: monitr: .*'monitor'",
        r"gesscale\.yaml: monitor\.perod: .*'period'",
        r"gesscale\.yaml: workflow\.operators\.nearest\.min_replica: .*'min_replicas'",
        r"monitor\.'per\\niod': ",
    ):
        assert any(re.search(said, fault) for fault in found), said


def test_an_old_name_is_an_unknown_one(load: Load) -> None:
    (fault,) = faults(load, plan={"settle_timeout": "60s"})
    assert re.search("plan.settle_timeout: there is no such setting; .*rescale_timeout", fault)


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
        ({"latency_map": {"file": "a.csv", "max_age": 0}}, "latency_map.max_age: expected a positive duration"),
        ({"monitor": 3}, "monitor: expected a group of settings, got 3"),
        ({"monitor": {"window": "10m", "history": "5m"}}, "monitor: expected window <= history, got 600 s and 300 s"),
        ({"monitor": {"source": "prometheus"}}, "monitor: source prometheus needs prometheus_url"),
        ({"monitor": {"source": "promtheus"}}, "monitor.source: expected 'driver' or 'prometheus'"),
        (
            {"monitor": {"source": "prometheus", "prometheus_url": "prom:9090"}},
            "monitor.prometheus_url: expected an address such as http://10.0.0.1:9090, got 'prom:9090'",
        ),
        ({"analyze": {"policy": "gescale"}}, "analyze.policy: "),
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


@pytest.mark.parametrize("text", ["- a\n- b", "monitor: [", "a: b: c", "monitor: {}\nmonitor: {}"])
def test_a_file_that_is_no_settings_file_is_named(load: Load, text: str) -> None:
    with pytest.raises(SettingsError, match=r"settings file .*gesscale\.yaml"):
        load(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "none.yaml", tmp_path, binary):
        with pytest.raises(SettingsError, match=str(path)):
            load_settings(path, (), {})


@pytest.mark.parametrize("override", ["monitor.period", "=30s", "execute.cluster={"])
def test_an_option_without_name_and_value_is_refused(load: Load, override: str) -> None:
    with pytest.raises(SettingsError, match="option"):
        load(overrides=(override,))


def test_a_value_that_is_no_yaml_names_its_variable(load: Load) -> None:
    with pytest.raises(SettingsError, match=r"^GESSCALE_EXECUTE__CLUSTER"):
        load(environ={"GESSCALE_EXECUTE__CLUSTER": "{"})
