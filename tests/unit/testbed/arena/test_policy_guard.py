"""A policy that raises, returns invalid output or takes too long loses its run, with the reason in one line."""

import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest

from gesscale.common.errors import Problem
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
    """A policy that returns given values, or the results of given callables."""

    analyses: Any = None
    plans: Any = None
    name: Any = "given"

    def analyze(self, *_: Any) -> Mapping[str, Analysis]:
        answer = {"map": ANALYSIS} if self.analyses is None else self.analyses
        return answer() if callable(answer) else answer

    def plan(self, *_: Any) -> Mapping[str, Plan]:
        answer = {"map": STAYS} if self.plans is None else self.plans
        return answer() if callable(answer) else answer


def run_step(policy: Any, cluster: ClusterState = CLUSTER, time_limit_s: float = 60.0) -> Mapping[str, Plan]:
    """One step at 1,260 s."""
    with alarm_set() as alarm:
        guard = PolicyGuard(lambda: policy, "mine", WORKFLOW, time_limit_s=time_limit_s, alarm=alarm)
        analyses = guard.analyze(WorkflowObservation(at_s=1260.0), Knowledge())
        return guard.plan(analyses, cluster, Knowledge())


def problem_of(policy: Any, **options: Any) -> Problem:
    with pytest.raises(RunLost) as lost:
        run_step(policy, **options)
    assert str(lost.value).isprintable()
    assert lost.value.problem.fields["source"] == "policy mine"
    return lost.value.problem


def raising(error: BaseException) -> Callable[[], Any]:
    def ask() -> Any:
        raise error

    return ask


def planned(**changes: Any) -> Given:
    return Given(plans={"map": replace(ADDS, **changes)})


def test_a_plan_for_an_operator_whose_driver_is_down_is_accepted():
    # The cluster does not list it and would reject the order; the plan is valid for the last reading.
    not_listed = replace(CLUSTER, placements={})
    removes = replace(ADDS, placement=("a",))
    assert run_step(Given(plans={"map": removes}), cluster=not_listed) == {"map": removes}


def test_a_policy_that_raises_loses_with_error_method_and_time():
    problem = problem_of(Given(plans=raising(ValueError("no\nidea"))))
    assert problem.code == "policy-raised"
    assert problem.fields["error"] == "ValueError: no idea"
    assert (problem.fields["method"], problem.fields["at_s"]) == ("plan", 1260.0)


@pytest.mark.parametrize("error", [SystemExit(3), InputError("x"), RecursionError(), GeneratorExit(), MemoryError()])
def test_no_exception_of_a_policy_passes_the_guard(error):
    assert type(error).__name__ in problem_of(Given(analyses=raising(error))).fields["error"]


@pytest.mark.parametrize(
    ("analyses", "code", "fields"),
    [
        ([], "policy-output-type", {"expected": "Mapping", "got": "[]"}),
        ({}, "policy-output-operators", {"expected": ["map"], "got": "[]"}),
        ({"map": ANALYSIS, "sink": ANALYSIS}, "policy-output-operators", {"expected": ["map"]}),
        ({"map": None}, "policy-output-type", {"operator": "map", "expected": "Analysis", "got": "None"}),
    ],
)
def test_invalid_output_of_analyze_is_named(analyses, code, fields):
    problem = problem_of(Given(analyses=analyses))
    assert problem.code == code
    assert problem.fields.items() >= {**fields, "method": "analyze", "at_s": 1260.0}.items()


@pytest.mark.parametrize(
    ("policy", "code", "fields"),
    [
        (Given(plans=7), "policy-output-type", {"expected": "Mapping"}),
        (Given(plans={"map": "grow"}), "policy-output-type", {"expected": "Plan", "got": "'grow'"}),
        (planned(placement=("a", "moon")), "plan-node-unknown", {"node": "moon", "known": ["a", "b", "c", "d"]}),
        (planned(placement=("a", "b", "b")), "plan-placement-malformed", {}),
        (planned(before=("a", "c")), "plan-base-outdated", {"current": ("a", "b"), "got": "('a', 'c')"}),
        (planned(before=("b", "a")), "plan-base-outdated", {"got": "('b', 'a')"}),
        (planned(placement=("a", "b", "c", "d")), "plan-replicas-limit", {"replicas": 4, "max": 3}),
        (planned(placement=()), "plan-replicas-limit", {"replicas": 0, "min": 1}),
        (planned(placement=("c", "b", "a")), "plan-placement-malformed", {}),
    ],
)
def test_invalid_output_of_plan_is_named(policy, code, fields):
    problem = problem_of(policy)
    assert problem.code == code
    assert problem.fields.items() >= {**fields, "method": "plan", "at_s": 1260.0}.items()


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
def test_a_policy_that_never_returns_loses(slow):
    before = signal.getsignal(signal.SIGALRM)
    problem = problem_of(Given(plans=slow), time_limit_s=0.05)
    assert problem.code == "policy-timeout"
    assert problem.fields.items() >= {"method": "plan", "at_s": 1260.0, "limit_s": 0.05}.items()
    assert signal.getsignal(signal.SIGALRM) is before


def test_a_policy_that_blocks_loses():
    problem = problem_of(Given(plans=lambda: threading.Event().wait(60.0)), time_limit_s=0.05)
    assert problem.code == "policy-timeout"


def test_outside_the_main_thread_a_slow_policy_loses_when_it_is_done():
    caught: list[RunLost] = []

    def slow() -> Mapping[str, Plan]:
        threading.Event().wait(0.6)  # 10 % of it counts
        return {"map": STAYS}

    def run() -> None:
        try:
            run_step(Given(plans=slow), time_limit_s=0.05)
        except RunLost as lost:
            caught.append(lost)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert caught[0].problem.code == "policy-timeout"
