"""``/metrics``: exact names, no sample for unknown figures or vanished operators."""

import pytest
from model_summaries import both_laws
from prometheus_client.parser import text_string_to_metric_families

from gesscale.model.decision import Analysis, Decision, MapStatus, Outcome, OutcomeStatus, Plan, Reason, Verdict
from gesscale.service.metrics import ApiFigures, OperatorFigures, ScalerMetrics, StepFigures
from perfmodel import Estimate

LABELS = (
    *("namespace", "workflow", "operator", "verdict", "reason", "result", "kind", "bound"),
    *("phase", "le", "verb", "resource", "code", "version"),
    *("law", "parameter", "unit"),
)
BARE = OperatorFigures(min_replicas=1, max_replicas=8)
FULL = OperatorFigures(
    min_replicas=1,
    max_replicas=8,
    ordered_replicas=3,
    running_replicas=2,
    working_replicas=1,
    input_rows_per_s=812.0,
    throughput_rows_per_s=640.0,
    backlog_rows=0.0,
    mst=Estimate(low=600.0, mid=640.0, high=700.0),
    nd_max_s=0.05,
    saturated_share=1.0,
    order_pending_s=12.0,
    model=both_laws(),
    growth_blocked_by=Reason.DELAY_EATS_GAIN,
)


def samples(metrics):
    """Return every sample by name and label values; a series that comes twice fails."""
    text = metrics.page({})[1].decode()
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            assert set(sample.labels) <= set(LABELS)
            key = (sample.name, *(sample.labels[name] for name in LABELS if name in sample.labels))
            assert key not in found, key
            found[key] = sample.value
    return found


def series(metrics, name):
    return {key[1:]: value for key, value in samples(metrics).items() if key[0] == name}


def decision(operator="op", reason=Reason.OVERLOADED, verdict=Verdict.MORE):
    return Decision(
        at_s=1000.0,
        operator=operator,
        policy="gesscale",
        analysis=Analysis(operator=operator, verdict=verdict, reason=reason),
        plan=Plan(operator=operator, reason=reason, before=("hub",), placement=("hub",)),
        outcome=Outcome(status=OutcomeStatus.NOTHING_TO_DO),
    )


def step(age_s=None, **operators):
    return StepFigures(at_s=1000.0, operators=operators, latency_map=MapStatus(age_s=age_s))


@pytest.fixture
def metrics():
    return ScalerMetrics("1.2.3")


def test_every_figure_of_an_operator_has_its_sample(metrics):
    metrics.step_done("streams", "taxi", step(age_s=30.0, op=FULL), [decision()])
    found = samples(metrics)
    labels = ("streams", "taxi", "op")
    assert found["gesscale_build_info", "1.2.3"] == 1
    assert found["gesscale_input_rows_per_second", *labels] == 812.0
    assert found["gesscale_backlog_rows", *labels] == 0.0  # zero is a figure
    assert series(metrics, "gesscale_replicas") == {
        (*labels, "ordered"): 3, (*labels, "running"): 2, (*labels, "working"): 1,
        (*labels, "min"): 1, (*labels, "max"): 8
    }  # fmt: skip
    assert series(metrics, "gesscale_mst_rows_per_second") == {
        (*labels, "low"): 600.0, (*labels, "mid"): 640.0, (*labels, "high"): 700.0
    }  # fmt: skip
    assert found["gesscale_growth_blocked", *labels, "DelayEatsGain"] == 1
    assert found["gesscale_model_fitted", *labels] == 1
    assert series(metrics, "gesscale_model_law_in_use") == {(*labels, "eq1"): 0, (*labels, "batch-time"): 1}
    assert series(metrics, "gesscale_model_held_out_error_ratio") == {
        (*labels, "eq1"): 0.09, (*labels, "batch-time"): 0.04
    }  # fmt: skip
    parameters = series(metrics, "gesscale_model_parameter")
    assert [parameters[*labels, bound, "eq1", "gamma", "rows/s per ms"] for bound in ("low", "mid", "high")] == [
        pytest.approx(2.7), 3.0, pytest.approx(3.3)
    ]  # fmt: skip
    assert parameters[*labels, "mid", "batch-time", "row_s", "s"] == 0.005
    assert found["gesscale_latency_map_age_seconds", "streams", "taxi"] == 30.0
    assert found["gesscale_last_step_timestamp_seconds", "streams", "taxi"] == 1000.0
    assert found["gesscale_decisions_total", *labels, "More", "Overloaded"] == 1
    assert found["gesscale_loop_steps_total", "streams", "taxi", "ok"] == 1


def test_what_is_not_known_has_no_sample(metrics):
    metrics.step_done("streams", "taxi", step(op=BARE), [])
    assert {key[0] for key in samples(metrics) if "op" in key} == {"gesscale_replicas"}
    assert {key[3] for key in series(metrics, "gesscale_replicas")} == {"min", "max"}
    absent = ("gesscale_leader", "gesscale_latency_map_age_seconds")
    assert not [name for name in absent if series(metrics, name)]


def test_an_operator_that_vanished_leaves_no_series(metrics):
    metrics.step_done("streams", "taxi", step(a=FULL, b=FULL), [decision("a"), decision("b")])
    metrics.step_done("streams", "taxi", step(a=FULL), [decision("a")])
    found = samples(metrics)
    assert not [key for key in found if "b" in key]
    assert found["gesscale_decisions_total", "streams", "taxi", "a", "More", "Overloaded"] == 2


def test_a_failed_step_drops_figures_but_keeps_the_last_step_time(metrics):
    metrics.step_done("streams", "taxi", step(op=FULL), [decision()])
    metrics.step_failed("streams", "taxi")
    assert series(metrics, "gesscale_replicas") == {}
    assert series(metrics, "gesscale_last_step_timestamp_seconds") == {("streams", "taxi"): 1000.0}
    steps = {("streams", "taxi", "ok"): 1, ("streams", "taxi", "failed"): 1}
    assert series(metrics, "gesscale_loop_steps_total") == steps


def test_a_follower_exports_no_operators_but_keeps_counts(metrics):
    metrics.lead(True)
    assert series(metrics, "gesscale_leader") == {(): 1}
    metrics.step_done("streams", "taxi", step(op=FULL), [decision()])
    metrics.lead(False)
    assert series(metrics, "gesscale_leader") == {(): 0}
    assert series(metrics, "gesscale_replicas") == {}
    assert series(metrics, "gesscale_loop_steps_total") == {("streams", "taxi", "ok"): 1}


def test_the_api_server_is_asked_about_at_each_scrape():
    requests = {("get", "pods", "200"): 1}
    metrics = ScalerMetrics("1", lambda: ApiFigures(requests=dict(requests), stale_s={"nodes": 42.0}))
    requests["get", "pods", "200"] = 7
    assert series(metrics, "gesscale_kubernetes_requests_total") == {("get", "pods", "200"): 7}
    assert series(metrics, "gesscale_kubernetes_watch_stale_seconds") == {("nodes",): 42.0}
