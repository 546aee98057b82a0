import json

import pytest

from gesscale.cli import status as module


def state_of(gesscale, site, *more):
    code, out, _ = gesscale("status", "-c", site.config, "-o", "json", *more)
    (operator,) = json.loads(out)["operators"]
    return code, operator


def test_an_operator_without_a_decision_is_new(gesscale, site):
    code, operator = state_of(gesscale, site)
    assert (code, operator["state"], operator["replicas"]) == (3, "new", None)


def test_an_operator_that_is_in_time_is_ok(gesscale, site):
    site.serve()
    assert gesscale("run", "-c", site.config, "--steps", "1")[0] == 0
    code, operator = state_of(gesscale, site)
    assert (code, operator["state"], operator["replicas"]) == (0, "ok", 2)
    # 20 batches of 150 rows, one every 2.5 s: 60 rows/s
    assert operator["input_rows_per_s"] == pytest.approx(60.0, rel=0.05)
    assert operator["row_age"].endswith("s")
    _, out, _ = gesscale("status", "-c", site.config)
    assert operator["sentence"] in out


def test_an_operator_without_metrics_and_a_scaler_that_stopped_need_somebody(gesscale, site, monkeypatch):
    site.server.expect_request("/batches").respond_with_data("no", status=500)
    gesscale("run", "-c", site.config, "--steps", "1")
    assert state_of(gesscale, site)[0] == 3
    assert state_of(gesscale, site)[1]["state"] == "no metrics"
    monkeypatch.setattr("gesscale.clock.SystemClock.now_s", lambda _: __import__("time").time() + 3600)
    assert state_of(gesscale, site)[1]["state"] == "stopped"


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "ok"),
        ({"reason": "AtMaxReplicas"}, "limited"),
        ({"reason": "AtMinReplicas"}, "ok"),
        ({"reason": "NodePoolEmpty"}, "failed"),
        ({"reason": "MetricsStale"}, "no metrics"),
        ({"reason": "Reconfiguring"}, "changing"),
        ({"outcome": {"status": "Ordered"}}, "changing"),
        ({"outcome": {"status": "Failed"}}, "failed"),
        ({"row_age": {"seconds": 61.0, "objective_s": 60.0}}, "late"),
        ({"row_age": {"seconds": 59.0, "objective_s": 60.0}}, "ok"),
        ({"row_age": {"text": "", "seconds": None, "objective_s": None}}, "ok"),
        ({"row_age": None}, "ok"),
    ],
)
def test_the_state_is_the_worst_of_what_holds(changes, state):
    decision = {"reason": "WithinTarget", "outcome": {"status": "NothingToDo"}, "row_age": None}
    assert module._state({**decision, **changes}) == state


def test_it_is_printed_again_and_again_until_it_is_stopped(gesscale, site, monkeypatch):
    printed = []

    def wait(_clock, _at_s):
        printed.append(1)
        return len(printed) < 3

    monkeypatch.setattr("gesscale.clock.SystemClock.wait_until", wait)
    monkeypatch.setattr("gesscale.clock.SystemClock.stop_on_signals", lambda _: None)
    code, out, _ = gesscale("status", "-c", site.config, "--watch", "-o", "json")
    assert (code, len(out.splitlines())) == (0, 3)
