"""``/healthz`` and ``/readyz``: yes in a word, or no with every reason in a sentence."""

import json
from dataclasses import replace
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

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


def test_a_scheduler_that_stands_still_for_more_than_five_periods_is_dead():
    still = replace(WELL, moved_at_s=NOW_S - 50, period_s=10.0)
    assert liveness_failures(still, NOW_S) == ()
    assert liveness_failures(still, NOW_S + 1) == ("the scheduler has not moved for 51 s, it is to move every 10 s",)


def test_a_step_that_is_stuck_for_more_than_five_minutes_is_death():
    stuck = replace(WELL, steps=(STEP, replace(STEP, workflow="streams/b", running_since_s=NOW_S - 300.0)))
    assert liveness_failures(stuck, NOW_S) == ()
    assert liveness_failures(stuck, NOW_S + 1) == ("workflow streams/b: a step is stuck, it began 5 min ago",)


def test_a_step_of_a_short_period_may_wait_for_an_endpoint_that_hangs():
    # Three periods are 3 s, a step that waits for its endpoints lasts up to a minute.
    slow = replace(WELL, steps=(replace(STEP, period_s=1.0, last_s=NOW_S - 60.0),))
    assert readiness_failures(slow, NOW_S) == ()
    assert len(readiness_failures(slow, NOW_S + 1)) == 1


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"api_problem": "connection refused"}, "the API server is out of reach: connection refused"),
        (
            {"caches": (replace(PODS, listed=False, problem="403 Forbidden"),)},
            "pods have not been listed yet: 403 Forbidden",
        ),
        (
            {"caches": (replace(PODS, stale_s=200.0, problem="the watch broke"),)},
            "what is known of pods is 3 min old: the watch broke",
        ),
        (
            {"missing_rights": ("patch streamautoscalers/status in streams",)},
            "a right is missing: patch streamautoscalers/status in streams",
        ),
        (
            {"steps": (replace(STEP, last_s=819.0),)},  # 181 s ago, three periods are 180 s
            "workflow streams/taxi: a step last came to its end 3 min ago, there is to be one every 60 s",
        ),
        (
            {"steps": (replace(STEP, last_s=None, since_s=800.0),)},
            "workflow streams/taxi: no step has come to its end since it was taken up 3 min ago, "
            "there is to be one every 60 s",
        ),
    ],
)
def test_what_keeps_it_from_its_work_is_named(changed, sentence):
    assert readiness_failures(replace(WELL, **changed), NOW_S) == (sentence,)


def test_a_follower_steps_nothing_and_is_ready_but_must_see_the_cluster_too():
    follower = replace(WELL, leading=False, steps=(replace(STEP, last_s=0.0),))
    assert readiness_failures(follower, NOW_S) == ()
    assert len(readiness_failures(replace(follower, api_problem="timeout"), NOW_S)) == 1


@pytest.fixture
def probed():
    """A server whose vitals the test sets."""
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
            return refusal.code, [error["message"] for error in json.load(refusal)["errors"]]


def test_the_server_answers_in_words(probed):
    url, seen = probed
    assert ask(f"{url}/healthz") == (200, "alive\n")
    assert ask(f"{url}/readyz") == (200, "ready: leader, steps 1 workflow\n")
    seen[0] = replace(WELL, leading=False)
    assert ask(f"{url}/readyz") == (200, "ready: follower\n")
    assert 'gesscale_build_info{version="1.2.3"} 1.0' in ask(f"{url}/metrics")[1]


def test_a_no_is_an_error_with_every_reason_on_a_line(probed):
    url, seen = probed
    seen[0] = replace(WELL, moved_at_s=0.0, api_problem="timeout", missing_rights=("list pods",))
    code, said = ask(f"{url}/readyz")
    assert (code, len(said)) == (503, 2)
    code, said = ask(f"{url}/healthz")
    assert (code, len(said)) == (503, 1)
