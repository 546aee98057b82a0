"""The referee: a policy that raises, gives nonsense or does not come to an end loses its run, and only that."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn, TypeVar

from gesscale.formatting import describe_exception
from gesscale.model.decision import Analysis, Plan
from gesscale.model.observation import WorkflowObservation
from gesscale.model.workflow import Operator, Workflow
from gesscale.policies.registry import place_in_file
from gesscale.ports import ClusterState, Knowledge, Policy

_SHOWN = 60

#: So often it is looked whether the time is over. An interruption that a policy swallows is repeated, too.
_LOOK_S = 0.05

#: Seconds of real time that count as one of thinking: who waits for ever loses, who is kept from the CPU does
#: not.
_REAL_TIME_FACTOR = 10

_Answer = TypeVar("_Answer")


class RunLost(Exception):  # noqa: N818 - what happened to a policy; no error of the arena
    """The policy lost its run; the text says why, in one line."""


class OutOfTime(BaseException):
    """Raised inside a policy that thinks for too long; no Exception, so that no policy takes it for its own."""


class Alarm:
    """Raises `OutOfTime` in what takes too long; see `alarm_set`."""

    def __init__(self) -> None:
        self._thought: Callable[[], float] | None = None
        self._seconds = 0.0

    @contextmanager
    def ringing_after(self, seconds: float, thought: Callable[[], float]) -> Iterator[None]:
        """Ring once so many seconds have passed by ``thought``, again and again until it is given in."""
        self._seconds, self._thought = seconds, thought
        try:
            yield
        finally:
            self._thought = None

    def look(self, signum: int, frame: FrameType | None) -> None:
        """Ring if it is time."""
        del signum, frame
        if self._thought is not None and self._thought() >= self._seconds:
            raise OutOfTime


@contextmanager
def alarm_set() -> Iterator[Alarm]:
    """Set an alarm that looks at the time every 50 ms, by a signal.

    Outside the main thread, where no signal arrives, it never rings.
    """
    alarm = Alarm()
    if threading.current_thread() is not threading.main_thread():
        yield alarm
        return
    former = signal.signal(signal.SIGALRM, alarm.look)
    former_timer = signal.setitimer(signal.ITIMER_REAL, _LOOK_S, _LOOK_S)
    try:
        yield alarm
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if former is None else former)
        signal.setitimer(signal.ITIMER_REAL, *former_timer)


class PolicyGuard:
    """Checks every answer of a policy and times every step; itself a `gesscale.ports.Policy`.

    Only the time inside the policy counts, so that a slow machine or a long load is not its fault.

    Attributes
    ----------
    name
        What the policy calls itself.
    thought_s
        Time that it has thought.

    Raises
    ------
    RunLost
        Where it cannot be made.
    """

    def __init__(
        self, build: Callable[[], Policy], called: str, workflow: Workflow, *, time_limit_s: float, alarm: Alarm
    ) -> None:
        self._called, self._workflow, self._limit_s, self._alarm = called, workflow, time_limit_s, alarm
        self._at_s: float | None = None
        self.thought_s = 0.0
        self._policy = self._judged("its making", build)
        self.name = self._judged("its name", lambda: self._policy.name)

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Let the policy analyze; see `gesscale.ports.Policy`.

        Raises
        ------
        RunLost
            Where it raised, gave nonsense or ran out of time.
        """
        self._at_s = observation.at_s

        def ask() -> tuple[Mapping[str, Analysis], str]:
            analyses = self._policy.analyze(observation, knowledge)
            return analyses, _fault_of(analyses, Analysis, self._workflow)

        analyses, fault = self._judged("analyze", ask)
        if fault:
            self._lose(f"gave nonsense in analyze{self._when}: {fault}")
        return analyses

    def plan(self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge) -> Mapping[str, Plan]:
        """Let the policy plan; see `gesscale.ports.Policy`.

        Raises
        ------
        RunLost
            Where it raised, gave nonsense or ran out of time.
        """

        def ask() -> tuple[Mapping[str, Plan], str]:
            plans = self._policy.plan(analyses, cluster, knowledge)
            return plans, _fault_of(plans, Plan, self._workflow) or _fault_of_changes(plans, self._workflow, cluster)

        plans, fault = self._judged("plan", ask)
        if fault:
            self._lose(f"gave nonsense in plan{self._when}: {fault}")
        return plans

    def _judged(self, method: str, ask: Callable[[], _Answer]) -> _Answer:
        thought, fault, left_s = _stopwatch(), None, self._limit_s - self.thought_s
        try:
            with self._alarm.ringing_after(left_s, thought):
                answer = ask()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a policy may raise anything, SystemExit too
            fault = error
        self.thought_s += thought()
        if isinstance(fault, OutOfTime) or self.thought_s >= self._limit_s:
            self._lose(f"thought for longer than the time limit of {self._limit_s:g} s, in {method}{self._when}")
        if fault is not None:
            line = f" ({place})" if (place := place_in_file(fault)) else ""
            self._lose(f"raised {describe_exception(fault)} in {method}{self._when}{line}", fault)
        return answer

    @property
    def _when(self) -> str:
        return "" if self._at_s is None else f" at {self._at_s:,.0f} s"

    def _lose(self, why: str, cause: BaseException | None = None) -> NoReturn:
        raise RunLost(f"policy {self._called} {why}") from cause


def _stopwatch() -> Callable[[], float]:
    """Return what tells the seconds of thinking since now, of this thread."""
    began_s, began_cpu_s = time.perf_counter(), time.thread_time()
    return lambda: max(time.thread_time() - began_cpu_s, (time.perf_counter() - began_s) / _REAL_TIME_FACTOR)


def _fault_of(answers: object, kind: type, workflow: Workflow) -> str:
    """Say what is wrong with what a policy returned, anything at all; empty where each operator has its answer."""
    if not isinstance(answers, Mapping):
        return f"expected a mapping of operators to answers, got {_shown(answers)}"
    if answers.keys() != workflow.operators.keys():
        return f"expected an answer for each of {', '.join(workflow.operators)}, got {_shown([*answers])}"
    for name, answer in answers.items():
        if not isinstance(answer, kind):
            return f"operator {name}: expected {kind.__name__}, got {_shown(answer)}"
    return ""


def _fault_of_changes(plans: Mapping[str, Plan], workflow: Workflow, cluster: ClusterState) -> str:
    faults = ((name, _fault_of_change(plan, workflow.operators[name], cluster)) for name, plan in plans.items())
    return next((f"operator {name}: {fault}" for name, fault in faults if fault), "")


def _fault_of_change(plan: Plan, operator: Operator, cluster: ClusterState) -> str:
    if plan.placement == plan.before or operator.name not in cluster.placements:
        return ""  # an operator whose driver is down is not listed; the cluster refuses the order, which is no foul
    present, after = tuple(sorted(cluster.placements[operator.name])), plan.placement
    unknown = [node for node in after if node not in cluster.nodes]
    if plan.before != present:
        return f"expected a plan from the present placement, {present}, got {_shown(plan.before)}"
    if after != tuple(sorted(set(after))):
        return f"expected a placement that is sorted and names each node once, got {_shown(after)}"
    if unknown:
        return f"asked for node {unknown[0]!r}, which is not among {', '.join(cluster.nodes)}"
    beyond = ""
    if set(after) - set(present) and len(after) > operator.max_replicas:
        beyond = f"max_replicas is {operator.max_replicas}"
    elif set(present) - set(after) and len(after) < operator.min_replicas:
        beyond = f"min_replicas is {operator.min_replicas}"
    return f"asked for {len(after)} replicas, {beyond}" if beyond else ""


def _shown(value: object) -> str:
    """Return any value in a few characters of one line; one that cannot be shown by its type."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001 - a policy's own object may do anything when it is shown
        return f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
