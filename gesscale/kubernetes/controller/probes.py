"""``/healthz`` and ``/readyz``: whether the controller lives, and works.

Ages are differences of a clock that never jumps: the wall clock of a board without a battery leaps when the network's
time arrives, and a controller must not be restarted for that.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gesscale.common.errors import Problem
from gesscale.common.http_server import Page, UnavailableError
from gesscale.formatting import format_duration
from gesscale.kubernetes.placement.watches import STALE_AT_MOST_S, CacheStatus

#: So many of its own periods the scheduler may stand still: a slow step does not stop it, a deadlock does.
LIVENESS_PERIODS = 5
#: A step that goes on for longer is stuck: all that it waits for has a deadline far below this one.
STUCK_S = 300.0
READINESS_PERIODS = 3
#: A step of a short period may last longer than three of them where an endpoint hangs; that is its author's
#: problem.
UNREADY_AT_LEAST_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStatus:
    """When a workflow was last stepped."""

    #: Namespace and name, ``streams/taxi``.
    workflow: str
    #: Seconds between two steps.
    period_s: float
    #: When this process took the workflow up.
    since_s: float
    #: When a step last came to its end; None where none has.
    last_s: float | None = None
    #: When the step began that is under way; None where none is.
    running_since_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSnapshot:
    """What the probes judge; all instants are of the probes' clock."""

    #: When the scheduler's thread last went through its round.
    moved_at_s: float
    #: How often it is to do so.
    period_s: float
    #: Whether this process holds the lease.
    leading: bool = False
    #: Why the API server cannot be reached; empty where it can.
    api_problem: str = ""
    #: The watched kinds, and the workflows that this process steps (caches, steps).
    caches: tuple[CacheStatus, ...] = ()
    #: A sentence for each verb that was refused for want of a right.
    missing_rights: tuple[str, ...] = ()
    steps: tuple[StepStatus, ...] = ()


def liveness_failures(health: HealthSnapshot, now_s: float) -> tuple[str, ...]:
    """Say why the process is to be restarted, in sentences; empty where it lives."""
    still_s = now_s - health.moved_at_s
    scheduler = (
        f"the scheduler has not moved for {format_duration(still_s)}, "
        f"it is to move every {format_duration(health.period_s)}"
    )
    return (
        *((scheduler,) if still_s > LIVENESS_PERIODS * health.period_s else ()),
        *(
            f"workflow {step.workflow}: a step is stuck, it began {format_duration(now_s - step.running_since_s)} ago"
            for step in health.steps
            if step.running_since_s is not None and now_s - step.running_since_s > STUCK_S
        ),
    )


def readiness_failures(health: HealthSnapshot, now_s: float) -> tuple[str, ...]:
    """Say why the controller cannot do its work, in sentences; empty where it can, as leader or as follower."""
    api = (f"the API server is out of reach: {health.api_problem}",) if health.api_problem else ()
    caches = (said for cache in health.caches if (said := _cache_problem(cache)))
    rights = (f"a right is missing: {right}" for right in health.missing_rights)
    steps = (said for step in health.steps if health.leading and (said := _step_problem(step, now_s)))
    return (*api, *caches, *rights, *steps)


def problems_of(health: HealthSnapshot, now_s: float) -> tuple[str, ...]:
    """Say all that is wrong with the controller, or that another one leads, in sentences."""
    other = () if health.leading else ("this controller waits: another one leads, and its page shows the steps",)
    return (*liveness_failures(health, now_s), *readiness_failures(health, now_s), *other)


def probes(health: Callable[[], HealthSnapshot], clock: Callable[[], float]) -> dict[str, Page]:
    """Return ``/healthz`` and ``/readyz``."""

    def healthz(_parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        return _answer("alive", liveness_failures(health(), clock()))

    def readyz(_parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        seen = health()
        count = len(seen.steps)
        steps = f"steps {count} workflow{'' if count == 1 else 's'}"
        role = f"leader, {steps}" if seen.leading else "follower"
        return _answer(f"ready: {role}", readiness_failures(seen, clock()))

    return {"/healthz": healthz, "/readyz": readyz}


def _answer(well: str, problems: tuple[str, ...]) -> tuple[str, bytes]:
    if problems:
        raise UnavailableError(*(Problem("uncoded", {"text": each}) for each in problems))
    return "text/plain", f"{well}\n".encode()


def _cache_problem(cache: CacheStatus) -> str:
    why = f": {cache.problem}" if cache.problem else ""
    if not cache.listed:
        return f"{cache.resource} have not been listed yet{why}"
    if cache.stale_s is not None and cache.stale_s > STALE_AT_MOST_S:
        return f"what is known of {cache.resource} is {format_duration(cache.stale_s)} old{why}"
    return ""


def _step_problem(step: StepStatus, now_s: float) -> str:
    age_s = now_s - (step.since_s if step.last_s is None else step.last_s)
    if age_s <= max(READINESS_PERIODS * step.period_s, UNREADY_AT_LEAST_S):
        return ""
    never = step.last_s is None
    said = "no step has come to its end since it was taken up" if never else "a step last came to its end"
    due = f"there is to be one every {format_duration(step.period_s)}"
    return f"workflow {step.workflow}: {said} {format_duration(age_s)} ago, {due}"
