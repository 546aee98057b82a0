"""Leader election by a Lease: at most one controller acts, and its orders carry a term that only grows.

Why not `kubernetes.leaderelection` (37.0.2). Its rule is right: a holder counts as gone only after its record has not
changed for the lease's duration by the candidate's own clock. But:

- It uses the wall clock, which jumps on a board without a battery when the time server is first reached.
- It cannot be stopped and does not release the lease.
- It cannot answer "is this process the leader now?": between a lost renewal and its callback its state is unknown.
- It never writes leaseTransitions, so there is no term by which to fence orders.
- An error that is no ApiException, such as a timeout or a refused connection, ends its thread.

Only forty lines of rule would remain, and the term cannot be added from outside.

Safety rests on two times: a leader trusts a renewal for `renew_deadline_s` from the moment it *sent* it; a candidate
waits `duration_s` from the moment it *saw* the record change. Clock rates may differ by the ratio of the two. A
candidate that finds no Lease creates one at once, but leads only `duration_s` later and under a term taken then: the
Lease may have been deleted under a leader that has not noticed yet.
"""

import random
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from gesscale.common.errors import Problem
from gesscale.kubernetes.api.connection import Connection, Object
from gesscale.kubernetes.api.errors import ApiError
from gesscale.kubernetes.api.resources import LEASES

LEASE_NAME = "gesscale-controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionTimes:
    """The times of an election, seconds; each must be longer than the next, so that no two controllers lead at once."""

    #: How long a lease is valid after a change of it was observed.
    duration_s: float = 15.0
    #: How long a leader trusts a renewal.
    renew_deadline_s: float = 10.0
    #: How often it renews: client-go's every 2 s would be 43,000 writes a day on an SD card.
    renew_every_s: float = 4.0
    #: How often a candidate tries, and a leader after an error.
    retry_s: float = 2.0


@dataclass(frozen=True, slots=True)
class LeaseLock:
    """A Lease in the cluster."""

    connection: Connection
    namespace: str
    name: str = LEASE_NAME
    #: Timeout of each request; a renewal that takes longer has failed.
    timeout_s: float = 3.0

    def read(self) -> Object | None:
        """Return the Lease; None if it does not exist."""
        try:
            return self.connection.get(LEASES, self.name, namespace=self.namespace, timeout_s=self.timeout_s)
        except ApiError as error:
            if error.not_found:
                return None
            raise

    def create(self, spec: Mapping[str, Any]) -> Object:
        """Create it."""
        body = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": dict(spec),
        }
        return self.connection.create(LEASES, body, namespace=self.namespace, timeout_s=self.timeout_s)

    def replace(self, lease: Object) -> Object:
        """Replace it, if it is the newest version."""
        return self.connection.update(LEASES, lease, namespace=self.namespace, timeout_s=self.timeout_s)


def new_identity() -> str:
    """Return a unique name for this process, different from its successor in the same pod."""
    return f"{socket.gethostname()}_{uuid4().hex[:12]}"


def steady_now_s() -> float:
    """Return seconds of a clock that never jumps and runs while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Elector:
    """One candidate."""

    def __init__(
        self,
        lock: LeaseLock,
        identity: str,
        *,
        times: ElectionTimes = ElectionTimes(),
        term_floor: Callable[[], int] = lambda: -1,
        on_change: Callable[[], None] = lambda: None,
        now_s: Callable[[], float] = steady_now_s,
        utc_now: Callable[[], datetime] = _utc_now,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self.identity, self.times = identity, times
        self._lock_object, self._term_floor, self._on_change = lock, term_floor, on_change
        self._now_s, self._utc_now, self._draw = now_s, utc_now, draw
        self._kept: Object | None = None
        self._seen: tuple[str, str] | None = None
        self._seen_s = now_s()
        self._probation_until_s: float | None = None
        self._trusted_until_s = float("-inf")
        self._term: int | None = None
        self._reported_leader = False
        self._holder = ""
        self._problem: Problem | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def term(self) -> int | None:
        """Term of the current or last leadership of this process; None before the first."""
        return self._term

    @property
    def problem(self) -> Problem | None:
        """Error of the last try; None after success."""
        return self._problem

    def is_leader(self, now_s: float | None = None) -> bool:
        """Whether this process may act now; False as soon as the last renewal is too old to be trusted."""
        at_s = self._now_s() if now_s is None else now_s
        return self._probation_until_s is None and at_s < self._trusted_until_s

    def step(self) -> float:
        """Try once to acquire or renew the Lease; return seconds until the next try."""
        sent_s = self._now_s()
        try:
            won = self._acquire_or_renew()
            self._problem = None
        except ApiError as error:
            won = False
            self._problem = error.problem
        except Exception as error:  # noqa: BLE001  # a dead thread would never lead again, without a sign
            won = False
            self._problem = Problem("election-failed", {"cause": f"{type(error).__name__}: {error}"})
        if won and not self._stopping.is_set():
            self._trusted_until_s = sent_s + self.times.renew_deadline_s
        leads = self.is_leader()
        if leads != self._reported_leader:
            self._reported_leader = leads
            self._on_change()
        if won and leads:
            return self.times.renew_every_s
        return self.times.retry_s * (1.0 if leads else 1.0 + 0.2 * self._draw())

    def release(self) -> None:
        """Stop leading and release the Lease, so that no successor waits for its expiry; best effort."""
        self._stopping.set()
        self._trusted_until_s = float("-inf")
        try:
            # A holder on probation keeps it: its successor would lead at once.
            releases = self._holder == self.identity and self._probation_until_s is None
            lease = self._lock_object.read() if releases else None
            if lease is not None and _spec(lease).get("holderIdentity") == self.identity:
                spec = {**_spec(lease), "holderIdentity": "", "renewTime": self._stamp()}
                self._lock_object.replace({**lease, "spec": spec})
        except ApiError as error:
            self._problem = error.problem

    def start(self) -> None:
        """Start `run` in a thread."""
        self._thread = threading.Thread(target=self.run, name="lease", daemon=True)
        self._thread.start()

    def run(self) -> None:
        """Take part in the election until `stop`."""
        wait_s = 0.0
        while not self._stopping.wait(wait_s):
            wait_s = self.step()

    def stop(self, timeout_s: float = 10.0) -> None:
        """End the thread and release the Lease."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout_s)
        self.release()

    def _acquire_or_renew(self) -> bool:
        # A leader has the Lease as it wrote it; if another process has written since, the update is a conflict.
        kept, self._kept = self._kept, None
        lease = kept if kept is not None and self.is_leader() else self._lock_object.read()
        spec = {} if lease is None else _spec(lease)
        self._observe(lease, spec)
        holder = self._holder
        ours = holder == self.identity
        released = lease is not None and not holder
        if not (ours or released or lease is None) and self._now_s() < self._seen_s + self._takeover_wait_s(spec):
            return False
        term = _non_negative(spec.get("leaseTransitions"))
        probation_until_s = self._probation_until_s if ours else None
        if ours and probation_until_s is not None and self._now_s() >= probation_until_s:
            # Probation is over: the term must exceed that of every order until now.
            probation_until_s, term = None, max(term, self._term_floor() + 1)
        elif not ours or self._term is None:
            term = max(term + (lease is not None), self._term_floor() + 1)
        stamp = self._stamp()
        renewed = {
            **spec,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(1, round(self.times.duration_s)),
            "acquireTime": spec.get("acquireTime", stamp) if ours else stamp,
            "renewTime": stamp,
            "leaseTransitions": term,
        }
        if lease is None:
            kept = self._lock_object.create(renewed)
            # It may have been deleted under a leader that has not noticed yet; wait until its trust has run out.
            probation_until_s = self._now_s() + self.times.duration_s
        else:
            kept = self._lock_object.replace({**lease, "spec": renewed})
        self._observe(kept, _spec(kept))
        self._kept, self._term, self._probation_until_s = kept, term, probation_until_s
        return True

    def _observe(self, lease: Object | None, spec: Mapping[str, Any]) -> None:
        metadata = {} if lease is None else lease["metadata"]
        seen = str(metadata.get("uid", "")), str(metadata.get("resourceVersion", ""))
        self._holder = str(spec.get("holderIdentity") or "")
        if seen != self._seen:
            self._seen, self._seen_s = seen, self._now_s()

    def _takeover_wait_s(self, spec: Mapping[str, Any]) -> float:
        """Return how long the holder may be silent: its own lease duration, if that is longer than ours."""
        return max(self.times.duration_s, float(_non_negative(spec.get("leaseDurationSeconds"))))

    def _stamp(self) -> str:
        return self._utc_now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _spec(lease: Object) -> dict[str, Any]:
    spec = lease.get("spec")
    return spec if isinstance(spec, dict) else {}


def _non_negative(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0
