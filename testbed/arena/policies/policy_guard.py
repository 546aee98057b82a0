"""The referee: a policy that raises, gives nonsense or does not come to an end loses its run, and only that."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn, TypeVar

from gesscale.model.decision import Analysis, Plan, Reason, Rejection, Verdict
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.model.workflow import Operator, Workflow
from gesscale.policies.registry import place_in_file
from gesscale.ports import ClusterState, Knowledge, Policy
from gesscale.words import error_in_words
from perfmodel import Estimate, Reading

_SHOWN = 60
_OF_A_MODEL = ("law", "parameters", "fitted", "readings_used", "calibrated", "drift", "warnings", "predict")


def fault_of_analyses(analyses: object, workflow: Workflow) -> str:
    """Say what is wrong with what Analyze returned.

    Parameters
    ----------
    analyses
        Anything at all.
    workflow
        Of which every operator is to be answered for, and no other.

    Returns
    -------
    str
        What was expected and what came; empty where nothing is wrong.
    """
    if not isinstance(analyses, Mapping):
        return f"expected a mapping of operators to analyses, got {shown(analyses)}"
    if fault := _fault_of_names(analyses, workflow):
        return fault
    for name, analysis in analyses.items():
        if fault := _fault_of_analysis(name, analysis):
            return f"operator {name}: {fault}"
    return ""


def fault_of_plans(plans: object, workflow: Workflow, cluster: ClusterState) -> str:
    """Say what is wrong with what Plan returned.

    Parameters
    ----------
    plans
        Anything at all.
    workflow
        Of which every operator is to be answered for, and no other, within its limits.
    cluster
        The nodes there are, and where replicas are.

    Returns
    -------
    str
        What was expected and what came; empty where nothing is wrong.
    """
    if not isinstance(plans, Mapping):
        return f"expected a mapping of operators to plans, got {shown(plans)}"
    if fault := _fault_of_names(plans, workflow):
        return fault
    for name, plan in plans.items():
        if fault := _fault_of_plan(name, plan) or _fault_of_change(plan, workflow.operators[name], cluster):
            return f"operator {name}: {fault}"
    return ""


def shown(value: object) -> str:
    """Return any value in a few characters of one line; one that cannot be shown by its type."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001 - a policy's own object may do anything when it is shown
        return f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _fault_of_names(answers: Mapping[object, object], workflow: Workflow) -> str:
    if answers.keys() == workflow.operators.keys():
        return ""
    missing = [name for name in workflow.operators if name not in answers]
    unknown = [name for name in answers if name not in workflow.operators]
    if missing:
        return f"nothing was said of operator {missing[0]!r}; every operator needs an answer"
    if unknown:
        return (
            f"operator {shown(unknown[0])} is not of the workflow, which has {', '.join(workflow.operators)}"
        )
    return ""


def _fault_of_analysis(name: str, analysis: object) -> str:
    if not isinstance(analysis, Analysis):
        return f"expected an Analysis, got {shown(analysis)}"
    return (
        _differs("operator", analysis.operator, name)
        or _is_no("verdict", analysis.verdict, Verdict)
        or _is_no("reason", analysis.reason, Reason)
        or _is_no("detail", analysis.detail, str)
        or _is_no("reading", analysis.reading, OperatorReading, optional=True)
        or _are_no("evidence", analysis.evidence, Reading)
        or _is_no_estimate(analysis.mst)
        or _is_no_number("nd_max_ms", analysis.nd_max_ms)
        or _is_no_number("headroom_pct", analysis.headroom_pct)
        or _is_no_model(analysis.model)
    )


def _fault_of_plan(name: str, plan: object) -> str:
    if not isinstance(plan, Plan):
        return f"expected a Plan, got {shown(plan)}"
    return (
        _differs("operator", plan.operator, name)
        or _is_no("reason", plan.reason, Reason)
        or _is_no("detail", plan.detail, str)
        or _are_no("before", plan.before, str)
        or _are_no("placement", plan.placement, str)
        or _are_no("rejections", plan.rejections, Rejection)
        or _is_no_estimate(plan.mst)
        or _is_no_number("nd_max_ms", plan.nd_max_ms)
    )


def _fault_of_change(plan: Plan, operator: Operator, cluster: ClusterState) -> str:
    if plan.placement == plan.before or operator.name not in cluster.placements:
        return ""  # an operator whose driver is down is not listed; the cluster refuses the order, which is no foul
    present, after = tuple(sorted(cluster.placements[operator.name])), plan.placement
    unknown = [node for node in after if node not in cluster.nodes]
    grows = bool(set(after) - set(present))
    fault = ""
    if plan.before != present:
        fault = f"expected a plan from the present placement, {_nodes(present)}, got {shown(plan.before)}"
    elif after != tuple(sorted(set(after))):
        fault = f"expected a placement that is sorted and names each node once, got {shown(after)}"
    elif unknown:
        fault = f"asked for node {unknown[0]!r}, which is not among {', '.join(cluster.nodes)}"
    elif grows and len(after) > operator.max_replicas:
        fault = f"asked for {len(after)} replicas, max_replicas is {operator.max_replicas}"
    elif not set(present) <= set(after) and len(after) < operator.min_replicas:
        fault = f"asked for {len(after)} replicas, min_replicas is {operator.min_replicas}"
    return fault


def _nodes(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "no node"


def _differs(what: str, value: object, expected: str) -> str:
    return "" if value == expected else f"expected {what} {expected!r}, got {shown(value)}"


def _is_no(what: str, value: object, kind: type, *, optional: bool = False) -> str:
    if isinstance(value, kind) or (optional and value is None):
        return ""
    return f"expected {what} to be a {kind.__name__}{' or None' if optional else ''}, got {shown(value)}"


def _are_no(what: str, values: object, kind: type) -> str:
    if isinstance(values, tuple) and all(isinstance(value, kind) for value in values):
        return ""
    return f"expected {what} to be a tuple of {kind.__name__}, got {shown(values)}"


def _is_no_number(what: str, value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (number and math.isfinite(value)):  # type: ignore[arg-type]  # a number by then
        return ""
    return f"expected {what} to be a finite number or None, got {shown(value)}"


def _is_no_estimate(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, Estimate):
        return f"expected mst to be an Estimate or None, got {shown(value)}"
    return next(filter(None, (_is_no_number("mst", end) for end in (value.low, value.mid, value.high))), "")


def _is_no_model(value: object) -> str:
    lacks = [name for name in _OF_A_MODEL if value is not None and not hasattr(value, name)]
    return f"expected model to be a perfmodel.Model or None, got one without {lacks[0]}" if lacks else ""


_Answer = TypeVar("_Answer")

_LOOK_S = 0.05
"""So often it is looked whether the time is over. An interruption that a policy swallows is repeated, too."""

_REAL_TIME_FACTOR = 10
"""Seconds of real time that count as one of thinking: who waits for ever loses, who is kept from the CPU does not."""


class RunLost(Exception):  # noqa: N818 - what happened to a policy; no error of the arena
    """The policy lost its run; the text says why, in one line."""


class OutOfTime(BaseException):
    """Raised inside a policy that thinks for too long; no Exception, so that no policy takes it for its own."""


class PolicyGuard:
    """Checks every answer of a policy and times every step; itself a `gesscale.ports.Policy`.

    Only the time inside the policy counts, so that a slow machine or a long load is not its fault.

    Parameters
    ----------
    build
        Makes the policy.
    called
        Its name in the arena, for reasons.
    workflow
        What it scales.
    time_limit_s
        Real time that it may think, over all its steps.
    alarm
        Interrupts it. One that is set for the whole run saves setting one for each step, as is done without it.

    Attributes
    ----------
    name
        What the policy calls itself.
    thought_s
        Real time that it has thought.

    Raises
    ------
    RunLost
        Where it cannot be made, or has no name.
    """

    def __init__(
        self,
        build: Callable[[], Policy],
        called: str,
        workflow: Workflow,
        *,
        time_limit_s: float,
        alarm: "Alarm | None" = None,
    ) -> None:
        self._called, self._workflow, self._limit_s = called, workflow, time_limit_s
        self._ringing_after = ringing_after if alarm is None else alarm.ringing_after
        self._at_s: float | None = None
        self.thought_s = 0.0
        self._policy, self.name = self._judged("its making", lambda: _named(build()))
        if not (isinstance(self.name, str) and self.name):
            self._lose(f"expected a name, got {shown(self.name)}")

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
            return analyses, fault_of_analyses(analyses, self._workflow)

        analyses, fault = self._judged("analyze", ask)
        if fault:
            self._lose(f"gave nonsense in analyze{self._when}: {fault}")
        return analyses

    def plan(
        self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge
    ) -> Mapping[str, Plan]:
        """Let the policy plan; see `gesscale.ports.Policy`.

        Raises
        ------
        RunLost
            Where it raised, gave nonsense or ran out of time.
        """

        def ask() -> tuple[Mapping[str, Plan], str]:
            plans = self._policy.plan(analyses, cluster, knowledge)
            return plans, fault_of_plans(plans, self._workflow, cluster)

        plans, fault = self._judged("plan", ask)
        if fault:
            self._lose(f"gave nonsense in plan{self._when}: {fault}")
        return plans

    def _judged(self, method: str, ask: Callable[[], _Answer]) -> _Answer:
        thought, fault, left_s = _stopwatch(), None, self._limit_s - self.thought_s
        try:
            with self._ringing_after(left_s, thought):
                answer = ask()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a policy may raise anything, SystemExit too
            fault = error
        self.thought_s += thought()
        if isinstance(fault, OutOfTime) or self.thought_s >= self._limit_s:
            self._lose(
                f"thought for longer than the time limit of {self._limit_s:g} s, in {method}{self._when}"
            )
        if fault is not None:
            self._lose(f"raised {error_in_words(fault)} in {method}{self._when}{place_in_file(fault)}", fault)
        return answer

    @property
    def _when(self) -> str:
        return "" if self._at_s is None else f" at {self._at_s:,.0f} s"

    def _lose(self, why: str, cause: BaseException | None = None) -> NoReturn:
        message = f"policy {self._called} {why}"
        raise RunLost(message) from cause


class Alarm:
    """Raises `OutOfTime` in what takes too long; see `alarm_set`."""

    def __init__(self) -> None:
        self._thought: Callable[[], float] | None = None
        self._seconds = 0.0

    def ringing_after(self, seconds: float, thought: Callable[[], float]) -> "Alarm":
        """Return a context: what takes longer in it gets `OutOfTime` raised, again and again until it gives in.

        Parameters
        ----------
        seconds
            Of computing, or `_REAL_TIME_FACTOR` times as many of real time.
        thought
            Tells how many of them have passed.
        """
        self._seconds, self._thought = seconds, thought
        return self

    def __enter__(self) -> None:
        """Do nothing: it is set already."""

    def __exit__(self, *raised: object) -> None:
        """Ring no more."""
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
    began_s = time.perf_counter()
    former = signal.signal(signal.SIGALRM, alarm.look)
    due_s, interval_s = signal.setitimer(signal.ITIMER_REAL, _LOOK_S, _LOOK_S)
    try:
        yield alarm
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if former is None else former)
        if due_s > 0:  # somebody's own alarm was set before: it is still to come
            signal.setitimer(
                signal.ITIMER_REAL, max(due_s - (time.perf_counter() - began_s), 1e-3), interval_s
            )


@contextmanager
def ringing_after(seconds: float, thought: Callable[[], float]) -> Iterator[None]:
    """Set an alarm for a while and let it ring; see `Alarm.ringing_after`."""
    with alarm_set() as alarm, alarm.ringing_after(seconds, thought):
        yield


def _stopwatch() -> Callable[[], float]:
    """Return what tells the seconds of thinking since now, of this thread."""
    began_s, began_cpu_s = time.perf_counter(), time.thread_time()
    return lambda: max(time.thread_time() - began_cpu_s, (time.perf_counter() - began_s) / _REAL_TIME_FACTOR)


def _named(policy: Policy) -> tuple[Policy, str]:
    return policy, policy.name
