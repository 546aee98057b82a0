"""Guards a run against its policy: one that raises, returns invalid output or takes too long loses only that run."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, TypeVar

from gesscale.common.errors import Problem
from gesscale.formatting import describe_exception
from gesscale.model.decision import Analysis, Plan
from gesscale.model.observation import WorkflowObservation
from gesscale.model.workflow import Operator, Workflow
from gesscale.policies.registry import place_in_file
from gesscale.ports import ClusterState, Knowledge, Policy

_MAX_REPR_CHARACTERS = 60

#: Interval of the timeout check, seconds. It also repeats an interruption that a policy has swallowed.
_CHECK_S = 0.05

#: Seconds of real time that count as one second of computation: a policy that blocks times out, one that the machine
#: starves of CPU does not.
_REAL_TIME_FACTOR = 10

_Result = TypeVar("_Result")


class RunLost(Exception):  # noqa: N818 - the policy's outcome, not an error of the arena
    """The policy lost its run; ``problem`` has the reason."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return str(self.problem)


class OutOfTime(BaseException):
    """Raised inside a policy that exceeds its time limit; not an Exception, so that no policy handles it as its own."""


class Alarm:
    """Raises `OutOfTime` in code that takes too long; see `alarm_set`."""

    def __init__(self) -> None:
        self._elapsed: Callable[[], float] | None = None
        self._seconds = 0.0

    @contextmanager
    def ringing_after(self, seconds: float, elapsed: Callable[[], float]) -> Iterator[None]:
        """Raise `OutOfTime` once ``elapsed`` reaches a number of seconds, and repeat it until the code returns."""
        self._seconds, self._elapsed = seconds, elapsed
        try:
            yield
        finally:
            self._elapsed = None

    def check(self, signum: int, frame: FrameType | None) -> None:
        """Raise `OutOfTime` if the limit is exceeded."""
        del signum, frame
        if self._elapsed is not None and self._elapsed() >= self._seconds:
            raise OutOfTime


@contextmanager
def alarm_set() -> Iterator[Alarm]:
    """Set an alarm that checks the time every 50 ms, by a signal.

    Outside the main thread, which alone receives signals, it never rings.
    """
    alarm = Alarm()
    if threading.current_thread() is not threading.main_thread():
        yield alarm
        return
    former = signal.signal(signal.SIGALRM, alarm.check)
    former_timer = signal.setitimer(signal.ITIMER_REAL, _CHECK_S, _CHECK_S)
    try:
        yield alarm
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if former is None else former)
        signal.setitimer(signal.ITIMER_REAL, *former_timer)


class PolicyGuard:
    """Validates the output of a policy and limits its time; itself a `gesscale.ports.Policy`.

    Only time inside the policy counts, so a slow machine or a long load cannot make it lose.

    Attributes
    ----------
    name
        Name that the policy gives itself.
    used_s
        Time used by the policy so far.

    Raises
    ------
    RunLost
        If the policy cannot be built.
    """

    def __init__(
        self, build: Callable[[], Policy], policy_name: str, workflow: Workflow, *, time_limit_s: float, alarm: Alarm
    ) -> None:
        self._policy_name, self._workflow, self._limit_s, self._alarm = policy_name, workflow, time_limit_s, alarm
        self._at_s = 0.0
        self.used_s = 0.0
        self._policy = self._guarded("the constructor", build)
        self.name = self._guarded("name", lambda: self._policy.name)

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Run the policy's analysis; see `gesscale.ports.Policy`.

        Raises
        ------
        RunLost
            If it raised, returned invalid output or ran out of time.
        """
        self._at_s = observation.at_s

        def call() -> tuple[Mapping[str, Analysis], Problem | None]:
            analyses = self._policy.analyze(observation, knowledge)
            return analyses, self._output_problem("analyze", analyses, Analysis)

        return self._validated("analyze", call)

    def plan(self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge) -> Mapping[str, Plan]:
        """Run the policy's planning; see `gesscale.ports.Policy`.

        Raises
        ------
        RunLost
            If it raised, returned invalid output or ran out of time.
        """

        def call() -> tuple[Mapping[str, Plan], Problem | None]:
            plans = self._policy.plan(analyses, cluster, knowledge)
            return plans, self._output_problem("plan", plans, Plan) or self._plan_problem(plans, cluster)

        return self._validated("plan", call)

    def _validated(self, method: str, call: Callable[[], tuple[_Result, Problem | None]]) -> _Result:
        result, problem = self._guarded(method, call)
        if problem is not None:
            raise RunLost(problem)
        return result

    def _guarded(self, method: str, call: Callable[[], _Result]) -> _Result:
        elapsed, fault, left_s = _stopwatch(), None, self._limit_s - self.used_s
        try:
            with self._alarm.ringing_after(left_s, elapsed):
                result = call()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a policy may raise anything, including SystemExit
            fault = error
        self.used_s += elapsed()
        if isinstance(fault, OutOfTime) or self.used_s >= self._limit_s:
            raise RunLost(Problem("policy-timeout", {**self._context(method), "limit_s": self._limit_s}))
        if fault is not None:
            self._lose_to(fault, method)
        return result

    def _lose_to(self, fault: BaseException, method: str) -> NoReturn:
        fields = {**self._context(method), "place": place_in_file(fault), "error": describe_exception(fault)}
        raise RunLost(Problem("policy-raised", fields)) from fault

    def _context(self, method: str) -> dict[str, Any]:
        return {"source": f"policy {self._policy_name}", "method": method, "at_s": self._at_s}

    def _output_problem(self, method: str, output: object, kind: type) -> Problem | None:
        """Return the problem with what a policy returned, which may be any object; None if the output is complete."""
        context, operators = self._context(method), self._workflow.operators
        if not isinstance(output, Mapping):
            return Problem("policy-output-type", {**context, "expected": "Mapping", "got": _safe_repr(output)})
        if output.keys() != operators.keys():
            return Problem(
                "policy-output-operators", {**context, "expected": [*operators], "got": _safe_repr([*output])}
            )
        for name, value in output.items():
            if not isinstance(value, kind):
                fields = {**context, "operator": name, "expected": kind.__name__, "got": _safe_repr(value)}
                return Problem("policy-output-type", fields)
        return None

    def _plan_problem(self, plans: Mapping[str, Plan], cluster: ClusterState) -> Problem | None:
        problems = (self._change_problem(plan, self._workflow.operators[name], cluster) for name, plan in plans.items())
        return next((problem for problem in problems if problem is not None), None)

    def _change_problem(self, plan: Plan, operator: Operator, cluster: ClusterState) -> Problem | None:
        if plan.placement == plan.before or operator.name not in cluster.placements:
            return None  # the cluster does not list an operator whose driver is down, and rejects the order itself
        current, after = tuple(sorted(cluster.placements[operator.name])), plan.placement
        context = {**self._context("plan"), "operator": operator.name}
        unknown = [node for node in after if node not in cluster.nodes]
        if plan.before != current:
            return Problem("plan-base-outdated", {**context, "current": current, "got": _safe_repr(plan.before)})
        if after != tuple(sorted(set(after))):
            return Problem("plan-placement-malformed", {**context, "got": _safe_repr(after)})
        if unknown:
            return Problem("plan-node-unknown", {**context, "node": unknown[0], "known": [*cluster.nodes]})
        least, most = operator.min_replicas, operator.max_replicas
        grows_beyond = bool(set(after) - set(current)) and len(after) > most
        if grows_beyond or (set(current) - set(after) and len(after) < least):
            return Problem("plan-replicas-limit", {**context, "replicas": len(after), "min": least, "max": most})
        return None


def _stopwatch() -> Callable[[], float]:
    """Return a function for the computation time of this thread since now, seconds."""
    began_s, began_cpu_s = time.perf_counter(), time.thread_time()
    return lambda: max(time.thread_time() - began_cpu_s, (time.perf_counter() - began_s) / _REAL_TIME_FACTOR)


def _safe_repr(value: object) -> str:
    """Format any value in a few characters on one line, or its type if its repr raises."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001 - the repr of a policy's own object may do anything
        return f"a {type(value).__name__}"
    return text if len(text) <= _MAX_REPR_CHARACTERS else f"{text[: _MAX_REPR_CHARACTERS - 3]}..."
