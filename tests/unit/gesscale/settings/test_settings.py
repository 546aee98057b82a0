"""Settings: sources, defaults, limits and their use."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from settings_files import Load, operators, problem, problems

from gesscale.fields import SettingsGroup, model_within
from gesscale.model.workflow import BatchCap, Operator
from gesscale.settings import Settings, settings_page
from gesscale.settings.lint import lint_settings


def test_little_has_to_be_given(load: Load) -> None:
    settings = load()
    assert settings.execute.mode == "recommend"
    assert settings.monitor.period_s == 60.0
    assert settings.workflow.build().operators == {"nearest": Operator(name="nearest", driver_node="edge1")}


@pytest.mark.parametrize("price", [0, -1, math.nan, math.inf, "much"])
def test_a_price_of_a_node_is_a_number_above_0(load: Load, price: object) -> None:
    assert load(plan={"node_prices": {"edge1": 2}}).plan.node_prices == {"edge1": 2.0}
    assert problem(load, plan={"node_prices": {"edge1": price}}).fields["place"] == "plan.node_prices.edge1"


def test_option_wins_over_environment_over_file_over_default(load: Load) -> None:
    given = {"monitor": {"period": "10s", "window": "10s", "timeout": "10s"}}
    environ = {"GESSCALE_MONITOR__PERIOD": "20s", "GESSCALE_MONITOR__WINDOW": "20s"}
    monitor = load(overrides=("monitor.period=30s",), environ=environ, **given).monitor
    assert (monitor.period_s, monitor.window_s, monitor.timeout_s) == (30, 20, 10)
    assert monitor.history_s == 300


def test_a_variable_with_one_underscore_too_few_is_refused(load: Load) -> None:
    found = problem(load, environ={"GESSCALE_LATENCY_MAP_MAX_AGE": "1h"})
    assert (found.code, found.fields["nearest"]) == ("setting-variable-misspelt", "GESSCALE_LATENCY_MAP__MAX_AGE")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # window: the period; history: five windows, 300 s at least; stale_after: three periods, 180 s at least.
        ({}, (60, 60, 300, 180)),
        ({"period": "10s"}, (10, 10, 300, 180)),
        ({"period": "10m"}, (600, 600, 3000, 1800)),
        ({"period": "10s", "window": "2m"}, (10, 120, 600, 180)),
        ({"period": "10m", "history": "1h", "stale_after": "1m"}, (600, 600, 3600, 60)),
        # history is 7 days at most.
        ({"period": "30d"}, (2592000, 604800, 604800, 7776000)),
    ],
)
def test_times_that_are_not_given_follow_the_period(
    load: Load, given: dict[str, str], expected: tuple[float, ...]
) -> None:
    monitor = load(monitor=given).monitor
    assert (monitor.period_s, monitor.window_s, monitor.history_s, monitor.stale_after_s) == expected


@pytest.mark.parametrize(
    ("groups", "code", "fields"),
    [
        ({}, None, {}),
        ({"monitor": {"period": "10s", "window": "1m"}}, "window-exceeds-period", {"window_s": 60, "period_s": 10}),
        (
            {"monitor": {"period": "5m", "stale_after": "1s"}},
            "stale-after-below-period",
            {"stale_after_s": 1, "period_s": 300},
        ),
        ({"workflow": operators(max_replicas=4)}, None, {}),
        ({"workflow": operators(max_replicas=4, trigger="20s")}, None, {}),
        # An objective of less than three intervals counts as three.
        (
            {"workflow": operators(max_replicas=4, trigger="21s")},
            "slo-below-trigger",
            {"trigger_s": 21, "slo_s": 60, "objective_s": 63},
        ),
        ({"workflow": operators(max_replicas=4, trigger="1m"), "analyze": {"policy": "ds2"}}, None, {}),
        ({"workflow": operators(max_replicas=5)}, "max-replicas-exceed-nodes", {"max_replicas": 5, "nodes": 4}),
        (
            {"workflow": operators(max_replicas=4), "plan": {"exclude_nodes": ["edge2"]}},
            "max-replicas-exceed-nodes",
            {"max_replicas": 4, "nodes": 3},
        ),
    ],
)
def test_unusual_settings_are_warned_about(
    load: Load, groups: dict[str, Any], code: str | None, fields: dict[str, float]
) -> None:
    settings = load(**{"workflow": operators(max_replicas=4), **groups})
    found = list(lint_settings(settings, ["edge1", "edge2", "edge3", "edge4"]))
    assert [each.code for each in found] == ([code] if code else [])
    assert all(str(each) and fields.items() <= each.fields.items() for each in found)


def test_files_are_found_from_the_settings_file_that_names_them(load: Load, tmp_path: Path) -> None:
    settings = load(knowledge={"file": "state/k.sqlite"})
    assert settings.latency_map.file == tmp_path / "edge8.csv"
    assert settings.knowledge.file == tmp_path / "state" / "k.sqlite"
    elsewhere = load(overrides=("latency_map.file=other.csv",), knowledge={"file": "/var/lib/k.sqlite"})
    assert elsewhere.latency_map.file == Path("other.csv")
    assert elsewhere.knowledge.file == Path("/var/lib/k.sqlite")


@pytest.mark.parametrize(
    ("written", "seconds"),
    [(30, 30), (30.5, 30.5), ("30", 30), ("30s", 30), ("5m", 300), ("1h", 3600), ("250ms", 0.25), ("1.5 h", 5400)],
)
def test_a_duration_is_seconds_or_a_number_with_a_unit(load: Load, written: object, seconds: float) -> None:
    assert load(plan={"rescale_timeout": written}).plan.rescale_timeout_s == seconds


@pytest.mark.parametrize(
    "written",
    [
        *("5x", "-5s", "", "s", "5m3s", "1e9", 0, -1, True, None, float("nan"), float("inf"), [5]),
        *("0.5ms", 0.0001, "3651d", "999999h", 10**60, 1e300),
    ],
)
def test_anything_else_is_no_duration(load: Load, written: object) -> None:
    found = problem(load, plan={"rescale_timeout": written})
    assert (found.code, found.fields["place"]) == ("duration-invalid", "plan.rescale_timeout")
    assert (found.fields["min"], found.fields["max"]) == ("1ms", "3650d")
    assert str(found.fields["got"]) == str(written)


@pytest.mark.parametrize(
    ("setting", "written", "limits"),
    [
        ("period", "1ms", ("1s", "3650d")),
        ("period", 0.999, ("1s", "3650d")),
        ("history", "8d", ("1ms", "7d")),
        ("timeout", "31s", ("1ms", "30s")),
    ],
)
def test_what_every_step_costs_is_bounded(load: Load, setting: str, written: object, limits: tuple[str, str]) -> None:
    found = problem(load, monitor={setting: written})
    assert (found.code, found.fields["place"]) == ("duration-invalid", f"monitor.{setting}")
    assert found.fields["got"] == written
    assert (found.fields["min"], found.fields["max"]) == limits


def test_every_number_has_limits_on_both_sides() -> None:
    def unbounded(group: type[SettingsGroup], above: str = "") -> Iterator[str]:
        for name, field in group.model_fields.items():
            kinds = {field.annotation, *get_args(field.annotation)}
            inner = model_within(field.annotation)
            if inner is not None and issubclass(inner, SettingsGroup):
                yield from unbounded(inner, f"{above}{name}.")
            elif not name.endswith("_s") and kinds & {int, float}:
                limits = {
                    limit for item in field.metadata for limit in ("ge", "gt", "le", "lt") if hasattr(item, limit)
                }
                if not (limits & {"ge", "gt"} and limits & {"le", "lt"}):
                    yield f"{above}{name}"

    assert list(unbounded(Settings)) == []


@pytest.mark.parametrize("value", [10**60, -(10**60), 1e300, -1e300, float("inf"), float("nan"), "0x" + "f" * 60])
@pytest.mark.parametrize(
    "setting",
    [
        "workflow.operators.nearest.min_replicas",
        "workflow.operators.nearest.max_replicas",
        "workflow.operators.nearest.batch_cap_rows",
        "workflow.operators.nearest.batch_cap_rows_per_replica",
        "analyze.seed",
        "analyze.autrascale.transfer_trials",
        "analyze.hpa_varga.lag_growth_rows_per_second",
        "analyze.dhalion.lag_close_to_zero_rows",
        "knowledge.readings_per_operator",
        "knowledge.decisions_per_operator",
        "latency_map.refresh",
        "monitor.history",
    ],
)
def test_a_figure_beyond_any_cluster_is_refused_where_it_is_read(load: Load, setting: str, value: object) -> None:
    (found,) = problems(load, overrides=(f"{setting}={yaml.safe_dump(value).splitlines()[0]}",))
    assert setting in found.fields["place"]


def test_settings_build_what_the_loop_takes(load: Load) -> None:
    settings = load(
        workflow={
            "operators": {
                "clean": {"driver_node": "edge1", "batch_cap_rows": 9000},
                "nearest": {"driver_node": "edge2", "upstream": ["clean"], "batch_cap_rows_per_replica": 3000},
            }
        },
        monitor={"source": "prometheus", "prometheus_url": "http://127.0.0.1:9090"},
        analyze={"cpu_high_pct": 80, "gesscale_2021": {"reading_max_age": None}},
    )
    workflow = settings.workflow.build()
    assert workflow.upstream("nearest") == ("clean",)
    assert workflow.operators["clean"].cap == BatchCap(rows=9000)
    assert workflow.operators["nearest"].batch_rows(2) == 6000  # 2 replicas x 3000
    assert settings.analyze.cpu_high_share == 0.8
    assert settings.analyze.gesscale_2021.reading_max_age_s is None


def test_the_page_of_settings_is_up_to_date() -> None:
    page = Path(__file__).parents[4] / "docs" / "reference" / "settings.md"
    assert page.read_text("utf-8") == settings_page(), "run: gesscale config docs > docs/reference/settings.md"
