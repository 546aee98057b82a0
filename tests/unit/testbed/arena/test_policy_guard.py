"""A policy that raises, gives nonsense or does not come to an end loses its run, with the reason in one line."""

import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest

from gesscale.errors import InputError
from gesscale.model.decision import Analysis, Plan, Reason, Verdict
from gesscale.model.observation import WorkflowObservation
from gesscale.model.workflow import Operator, Workflow
from gesscale.ports import ClusterState, Knowledge, Node
from testbed.arena.policies.policy_guard import PolicyGuard, RunLost, alarm_set

WORKFLOW = Workflow([Operator(name="map", driver_node="a", min_replicas=1, max_replicas=3)])
CLUSTER = ClusterState(nodes={name: Node(name=name) for name in ("a", "b", "c", "d")}, placements={"map": ("a", "b")})
ANALYSIS = Analysis(operator="map", verdict=Verdict.MORE, reason=Reason.OVERLOADED)
STAYS = Plan(operator="map", reason=Reason.WITHIN_TARGET, before=("a", "b"), placement=("a", "b"))
ADDS = Plan(operator="map", reason=Reason.OVERLOADED, before=("a", "b"), placement=("a", "b", "c"))


@dataclass
class Given:
    """Answers what it is given; a callable is asked."""

    analyses: Any = None
    plans: Any = None
    name: Any = "given"

    def analyze(self, *_: Any) -> Mapping[str, Analysis]:
        answer = {"map": ANALYSIS} if self.analyses is None else self.analyses
        return answer() if callable(answer) else answer

    def plan(self, *_: Any) -> Mapping[str, Plan]:
        answer = {"map": STAYS} if self.plans is None else self.plans
        return answer() if callable(answer) else answer


def play(policy: Any, cluster: ClusterState = CLUSTER, time_limit_s: float = 60.0) -> Mapping[str, Plan]:
    """One step at 1,260 s."""
    with alarm_set() as alarm:
        referee = PolicyGuard(lambda: policy, "mine", WORKFLOW, time_limit_s=time_limit_s, alarm=alarm)
        analyses = referee.analyze(WorkflowObservation(at_s=1260.0), Knowledge())
        return referee.plan(analyses, cluster, Knowledge())


def reason_of(policy: Any, **options: Any) -> str:
    with pytest.raises(RunLost) as lost:
        play(policy, **options)
    assert "\n" not in str(lost.value)
    return str(lost.value)


def raising(error: BaseException) -> Callable[[], Any]:
    def ask() -> Any:
        raise error

    return ask


def planned(**changes: Any) -> Given:
    return Given(plans={"map": replace(ADDS, **changes)})


def test_a_plan_for_an_operator_whose_driver_is_down_is_no_foul():
    # The cluster does not list it, and would refuse the order; by the last reading the plan is sound.
    not_listed = replace(CLUSTER, placements={})
    removes = replace(ADDS, placement=("a",))
    assert play(Given(plans={"map": removes}), cluster=not_listed) == {"map": removes}


def test_a_policy_that_raises_loses_with_error_place_and_time():
    reason = reason_of(Given(plans=raising(ValueError("no\nidea"))))
    assert reason == "policy mine raised ValueError: no idea in plan at 1,260 s"


@pytest.mark.parametrize("error", [SystemExit(3), InputError("x"), RecursionError(), GeneratorExit(), MemoryError()])
def test_no_exception_of_a_policy_gets_past_the_referee(error):
    assert type(error).__name__ in reason_of(Given(analyses=raising(error)))


@pytest.mark.parametrize(
    ("analyses", "expected"),
    [
        ([], "expected a mapping"),
        ({}, "expected an answer for each of map, got []"),
        ({"map": ANALYSIS, "sink": ANALYSIS}, "expected an answer for each of map"),
        ({"map": None}, "operator map: expected Analysis, got None"),
    ],
)
def test_nonsense_of_analyze_is_named(analyses, expected):
    reason = reason_of(Given(analyses=analyses))
    assert reason.startswith("policy mine gave nonsense in analyze at 1,260 s: ")
    assert expected in reason


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Given(plans=7), "expected a mapping"),
        (Given(plans={"map": "grow"}), "expected Plan, got 'grow'"),
        (planned(placement=("a", "moon")), "asked for node 'moon', which is not among a, b, c, d"),
        (planned(placement=("a", "b", "b")), "expected a placement that is sorted and names each node once"),
        (planned(before=("a", "c")), "expected a plan from the present placement, ('a', 'b'), got ('a', 'c')"),
        (planned(before=("b", "a")), "expected a plan from the present placement, ('a', 'b'), got ('b', 'a')"),
        (planned(placement=("a", "b", "c", "d")), "asked for 4 replicas, max_replicas is 3"),
        (planned(placement=()), "asked for 0 replicas, min_replicas is 1"),
        (planned(placement=("c", "b", "a")), "expected a placement that is sorted and names each node once"),
    ],
)
def test_nonsense_of_plan_is_named(policy, expected):
    reason = reason_of(policy)
    assert reason.startswith("policy mine gave nonsense in plan at 1,260 s: ")
    assert expected in reason


def loop_for_ever() -> None:
    while True:
        pass


def swallow_and_loop() -> None:
    while True:
        with suppress(Exception):
            sum(range(1000))


def swallow_everything_and_loop() -> None:
    while True:
        with suppress(BaseException):
            sum(range(1000))


def give_in_late() -> Mapping[str, Plan]:
    with suppress(BaseException):
        loop_for_ever()
    return {"map": STAYS}


@pytest.mark.parametrize("slow", [loop_for_ever, swallow_and_loop, swallow_everything_and_loop, give_in_late])
def test_a_policy_that_does_not_come_to_an_end_loses(slow):
    before = signal.getsignal(signal.SIGALRM)
    reason = reason_of(Given(plans=slow), time_limit_s=0.05)
    assert reason == "policy mine thought for longer than the time limit of 0.05 s, in plan at 1,260 s"
    assert signal.getsignal(signal.SIGALRM) is before


def test_a_policy_that_waits_for_ever_loses():
    reason = reason_of(Given(plans=lambda: threading.Event().wait(60.0)), time_limit_s=0.05)
    assert "thought for longer than the time limit of 0.05 s" in reason


def test_outside_the_main_thread_a_slow_policy_loses_when_it_is_done():
    caught: list[BaseException] = []

    def slow() -> Mapping[str, Plan]:
        threading.Event().wait(0.6)  # a tenth of it counts
        return {"map": STAYS}

    def run() -> None:
        try:
            play(Given(plans=slow), time_limit_s=0.05)
        except RunLost as lost:
            caught.append(lost)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert "time limit" in str(caught[0])
