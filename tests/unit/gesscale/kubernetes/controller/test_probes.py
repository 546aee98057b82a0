"""``/healthz`` and ``/readyz``: ready in one line, or all failures."""

import json
from dataclasses import replace
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from gesscale.common.errors import Problem
from gesscale.common.http_server import PageServer
from gesscale.kubernetes.controller.probes import (
    HealthSnapshot,
    StepStatus,
    liveness_failures,
    probes,
    readiness_failures,
)
from gesscale.kubernetes.placement.watches import CacheStatus
from gesscale.service.metrics import ScalerMetrics

NOW_S = 1000.0
PODS = CacheStatus(resource="pods", listed=True)
STEP = StepStatus(workflow="streams/taxi", period_s=60.0, since_s=0.0, last_s=990.0)
WELL = HealthSnapshot(moved_at_s=999.0, period_s=1.0, leading=True, caches=(PODS,), steps=(STEP,))


def test_liveness_fails_if_the_scheduler_is_stuck_for_five_periods():
    still = replace(WELL, moved_at_s=NOW_S - 50, period_s=10.0)
    assert liveness_failures(still, NOW_S) == ()
    (failure,) = liveness_failures(still, NOW_S + 1)
    assert (failure.code, failure.fields) == ("scheduler-stuck", {"age_s": 51.0, "period_s": 10.0})


def test_liveness_fails_if_a_step_is_stuck_for_five_minutes():
    stuck = replace(WELL, steps=(STEP, replace(STEP, workflow="streams/b", running_since_s=NOW_S - 300.0)))
    assert liveness_failures(stuck, NOW_S) == ()
    (failure,) = liveness_failures(stuck, NOW_S + 1)
    assert (failure.code, failure.fields) == ("step-stuck", {"workflow": "streams/b", "age_s": 301.0})


def test_a_step_with_a_short_period_may_wait_for_a_timeout():
    # Three periods are 3 s, a step that waits for its endpoints lasts up to a minute.
    slow = replace(WELL, steps=(replace(STEP, period_s=1.0, last_s=NOW_S - 60.0),))
    assert readiness_failures(slow, NOW_S) == ()
    assert len(readiness_failures(slow, NOW_S + 1)) == 1


REFUSED = Problem("kubernetes-unreachable", {"request": "get leases", "cause": "connection refused"})
FORBIDDEN = Problem("kubernetes-forbidden", {"right": "list pods", "status": 403, "cause": "no"})


@pytest.mark.parametrize(
    ("changed", "code", "fields"),
    [
        ({"api_problem": REFUSED}, REFUSED.code, REFUSED.fields),
        (
            {"caches": (replace(PODS, listed=False, problem=FORBIDDEN),)},
            "cache-not-listed",
            {"resource": "pods", "cause": str(FORBIDDEN)},
        ),
        (
            {"caches": (replace(PODS, stale_s=200.0, problem=REFUSED),)},
            "cache-stale",
            {"resource": "pods", "cause": str(REFUSED), "age_s": 200.0},
        ),
        ({"missing_rights": (FORBIDDEN,)}, FORBIDDEN.code, FORBIDDEN.fields),
        (
            {"steps": (replace(STEP, last_s=819.0),)},  # 181 s ago, three periods are 180 s
            "step-overdue",
            {"workflow": "streams/taxi", "age_s": 181.0, "period_s": 60.0},
        ),
        (
            {"steps": (replace(STEP, last_s=None, since_s=800.0),)},
            "step-never-completed",
            {"workflow": "streams/taxi", "age_s": 200.0, "period_s": 60.0},
        ),
    ],
)
def test_each_failure_has_a_code(changed, code, fields):
    (failure,) = readiness_failures(replace(WELL, **changed), NOW_S)
    assert (failure.code, failure.fields) == (code, fields)


def test_a_follower_is_ready_if_it_has_a_view_of_the_cluster():
    follower = replace(WELL, leading=False, steps=(replace(STEP, last_s=0.0),))
    assert readiness_failures(follower, NOW_S) == ()
    assert len(readiness_failures(replace(follower, api_problem=REFUSED), NOW_S)) == 1


@pytest.fixture
def probed():
    """A server whose health the test sets."""
    seen = [WELL]
    pages = {**probes(lambda: seen[0], lambda: NOW_S), "/metrics": ScalerMetrics("1.2.3").page}
    endpoint = PageServer("127.0.0.1", 0, pages)
    yield endpoint.url, seen
    endpoint.close()


def ask(url):
    try:
        with urlopen(url, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as refusal:
        with refusal:
            return refusal.code, [error["code"] for error in json.load(refusal)["errors"]]


def test_a_working_controller_answers_in_one_line(probed):
    url, seen = probed
    assert ask(f"{url}/healthz") == (200, "alive\n")
    assert ask(f"{url}/readyz") == (200, "ready: leader, steps 1 workflow\n")
    seen[0] = replace(WELL, leading=False)
    assert ask(f"{url}/readyz") == (200, "ready: follower\n")
    assert 'gesscale_build_info{version="1.2.3"} 1.0' in ask(f"{url}/metrics")[1]


def test_each_failure_is_in_the_answer(probed):
    url, seen = probed
    seen[0] = replace(WELL, moved_at_s=0.0, api_problem=REFUSED, missing_rights=(FORBIDDEN,))
    assert ask(f"{url}/readyz") == (503, [REFUSED.code, FORBIDDEN.code])
    assert ask(f"{url}/healthz") == (503, ["scheduler-stuck"])
