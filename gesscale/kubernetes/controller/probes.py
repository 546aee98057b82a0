"""``/healthz`` and ``/readyz``: liveness and readiness of the controller.

Ages are differences of a steady clock. The wall clock of a board without a battery jumps when network time arrives,
and that must not restart a controller.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gesscale.common.errors import Problem
from gesscale.common.http_server import Page, UnavailableError
from gesscale.kubernetes.placement.watches import CacheStatus

#: The scheduler is stuck after this many of its periods. A slow step does not stop it, a deadlock does.
LIVENESS_PERIODS = 5
#: A longer step is stuck: everything it waits for has a far shorter timeout.
STUCK_S = 300.0
READINESS_PERIODS = 3
#: With a short period, a step may take longer than three periods if an endpoint hangs. That is a problem of the
#: workflow, not of the controller.
MIN_UNREADY_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStatus:
    """When a workflow was stepped last."""

    #: Namespace and name, ``streams/taxi``.
    workflow: str
    #: Seconds between two steps.
    period_s: float
    #: When this process started to step the workflow.
    since_s: float
    #: When a step completed last; None if none has.
    last_s: float | None = None
    #: When the running step began; None if none is running.
    running_since_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSnapshot:
    """Input of the probes; all instants are of the steady clock."""

    #: When the scheduler's thread began its last round.
    moved_at_s: float
    #: Time between two rounds.
    period_s: float
    #: Whether this process holds the lease.
    leading: bool = False
    #: Error of the leader election; None without one.
    api_problem: Problem | None = None
    #: The watched kinds, and the workflows that this process steps (caches, steps).
    caches: tuple[CacheStatus, ...] = ()
    #: Errors of the verbs that RBAC denies.
    missing_rights: tuple[Problem, ...] = ()
    steps: tuple[StepStatus, ...] = ()


def liveness_failures(health: HealthSnapshot, now_s: float) -> tuple[Problem, ...]:
    """Return why the process must be restarted; empty if it works."""
    age_s = now_s - health.moved_at_s
    stuck = Problem("scheduler-stuck", {"age_s": age_s, "period_s": health.period_s})
    return (
        *((stuck,) if age_s > LIVENESS_PERIODS * health.period_s else ()),
        *(
            Problem("step-stuck", {"workflow": step.workflow, "age_s": now_s - step.running_since_s})
            for step in health.steps
            if step.running_since_s is not None and now_s - step.running_since_s > STUCK_S
        ),
    )


def readiness_failures(health: HealthSnapshot, now_s: float) -> tuple[Problem, ...]:
    """Return why the controller cannot work, as leader or as follower; empty if it can."""
    api = () if health.api_problem is None else (health.api_problem,)
    caches = (failure for cache in health.caches if (failure := cache.failure) is not None)
    steps = (failure for step in health.steps if health.leading and (failure := _step_failure(step, now_s)) is not None)
    return (*api, *caches, *health.missing_rights, *steps)


def page_problems(health: HealthSnapshot, now_s: float) -> tuple[Problem, ...]:
    """Return all failures, and whether another controller leads, for the page."""
    standby = () if health.leading else (Problem("controller-standby"),)
    return (*liveness_failures(health, now_s), *readiness_failures(health, now_s), *standby)


def probes(health: Callable[[], HealthSnapshot], clock: Callable[[], float]) -> dict[str, Page]:
    """Return ``/healthz`` and ``/readyz``; failures are reported as JSON with their codes."""

    def healthz(_parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        return _answer("alive", liveness_failures(health(), clock()))

    def readyz(_parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        current = health()
        count = len(current.steps)
        steps = f"steps {count} workflow{'' if count == 1 else 's'}"
        role = f"leader, {steps}" if current.leading else "follower"
        return _answer(f"ready: {role}", readiness_failures(current, clock()))

    return {"/healthz": healthz, "/readyz": readyz}


def _answer(success: str, failures: tuple[Problem, ...]) -> tuple[str, bytes]:
    if failures:
        raise UnavailableError(*failures)
    return "text/plain", f"{success}\n".encode()


def _step_failure(step: StepStatus, now_s: float) -> Problem | None:
    age_s = now_s - (step.since_s if step.last_s is None else step.last_s)
    if age_s <= max(READINESS_PERIODS * step.period_s, MIN_UNREADY_S):
        return None
    fields = {"workflow": step.workflow, "age_s": age_s, "period_s": step.period_s}
    return Problem("step-never-completed" if step.last_s is None else "step-overdue", fields)
