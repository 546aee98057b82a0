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

Controllers of one cluster share one Lease. A candidate that finds a Lease of the same name alive in another namespace
follows that one: it looks before it writes its own and again afterwards, so of two candidates at least one sees the
other. Times in the record are never read; only that the record changed counts.
"""

import logging
import random
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from gesscale.common.counted_warnings import CountedWarnings
from gesscale.common.errors import Problem
from gesscale.common.logs import log_problem
from gesscale.errors import ClusterError
from gesscale.kubernetes.api.connection import Connection, Object
from gesscale.kubernetes.api.errors import ApiError
from gesscale.kubernetes.api.resources import LEASES

_LOG = logging.getLogger(__name__)
LEASE_NAMESPACE, LEASE_NAME = "gesscale", "gesscale-controller"
#: A holder writes this duration when it releases the Lease, as other controllers do. A Lease whose holder was only
#: removed by hand may still have a leader.
RELEASED_S = 1
#: A candidate waits no longer for a silent holder, whatever duration the record states.
MAX_WAIT_S = 60.0
_MAX_TRANSITIONS = 2**31 - 1


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

    @property
    def key(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"

    def others(self) -> Mapping[str, Object]:
        """Return the Leases of this name in other namespaces by namespace and name; none without the right to list."""
        try:
            pages = list(self.connection.pages(LEASES, field_selector=f"metadata.name={self.name}"))
        except ApiError as error:
            if error.lacks_right:
                return {}
            raise
        found = {f"{each['metadata']['namespace']}/{self.name}": each for page in pages for each in page["items"]}
        return {key: lease for key, lease in found.items() if key != self.key}

    def create(self, spec: Mapping[str, Any]) -> Object:
        """Create it."""
        body = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": dict(spec),
        }
        try:
            return self.connection.create(LEASES, body, namespace=self.namespace, timeout_s=self.timeout_s)
        except ApiError as error:
            if error.not_found:
                raise ClusterError("lease-namespace-missing", namespace=self.namespace, lease=self.key) from None
            raise

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
        self._seen: dict[str, tuple[tuple[str, str], float]] = {}
        self._ended: frozenset[str] = frozenset()
        self._alive: frozenset[str] = frozenset()
        self._warnings = CountedWarnings(_LOG)
        self._claimed = False
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

    def has_ended(self, lease: str) -> bool:
        """Return whether nobody leads under another Lease; False if not known, as for one that was deleted."""
        return lease in self._ended

    def step(self) -> float:
        """Try once to acquire or renew the Lease; return seconds until the next try."""
        sent_s, before = self._now_s(), self._problem
        try:
            won = self._acquire_or_renew()
            self._problem = None
        except ClusterError as error:
            won = False
            self._problem = error.problem
        except Exception as error:  # noqa: BLE001  # a dead thread would never lead again, without a sign
            won = False
            self._problem = Problem("election-failed", {"cause": f"{type(error).__name__}: {error}"})
        if self._problem is not None and (before is None or before.code != self._problem.code):
            log_problem(_LOG, logging.WARNING, self._problem.code, **self._problem.fields)
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
                spec = {**_spec(lease), "holderIdentity": "", "leaseDurationSeconds": RELEASED_S}
                spec["renewTime"] = self._stamp()
                self._lock_object.replace({**lease, "spec": spec})
        except ClusterError as error:
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
        leads = self.is_leader()
        lease = kept if kept is not None and leads else self._lock_object.read()
        spec = {} if lease is None else _spec(lease)
        self._holder = str(spec.get("holderIdentity") or "")
        # Whoever edits the holder by hand may write any name while another process leads.
        self._claimed = self._claimed and self._holder == self.identity
        ours, key = self._claimed, self._lock_object.key
        free = ours or self._is_free(key, lease) or lease is None
        if not leads and (free or self._now_s() >= self._observe(key, lease) + self.times.renew_deadline_s):
            self._check_others()
        if not free:
            return False
        term = _non_negative(spec.get("leaseTransitions")) + (lease is not None and not ours)
        if ours and self._term is not None:
            term = max(term, self._term)
        if not leads:
            term = max(term, self._term_floor() + 1)  # others may have ordered meanwhile
        probation_until_s = self._probation_until_s if ours else None
        if probation_until_s is not None and self._now_s() >= probation_until_s:
            probation_until_s = None
        stamp = self._stamp()
        renewed = {
            **spec,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(1, round(self.times.duration_s)),
            "acquireTime": spec.get("acquireTime", stamp) if ours else stamp,
            "renewTime": stamp,
            "leaseTransitions": min(term, _MAX_TRANSITIONS),
        }
        self._claimed = True
        if lease is None:
            # It may have been deleted under a leader that has not noticed yet; wait until its trust has run out, also
            # if the answer is lost.
            self._probation_until_s = self._now_s() + self.times.duration_s
            kept = self._lock_object.create(renewed)
            probation_until_s = self._now_s() + self.times.duration_s
        else:
            kept = self._lock_object.replace({**lease, "spec": renewed})
        self._holder = self.identity
        self._observe(key, kept)
        if not leads:
            self._check_others()
        self._kept, self._term, self._probation_until_s = kept, term, probation_until_s
        return True

    def _check_others(self) -> None:
        """Raise if a Lease of the same name lives in another namespace."""
        # One that was deleted may still have a leader.
        others = {**dict.fromkeys(self._alive), **self._lock_object.others()}
        self._ended = frozenset(key for key, lease in others.items() if self._is_free(key, lease))
        self._alive = frozenset(others) - self._ended
        for key in self._alive:
            holder = _spec(others[key] or {}).get("holderIdentity")
            raise ClusterError("lease-held-elsewhere", lease=key, holder=holder or "nobody", own=self._lock_object.key)

    def _observe(self, key: str, lease: Object | None) -> float:
        """Return when a change of a Lease was seen last."""
        metadata = {} if lease is None else lease["metadata"]
        version = str(metadata.get("uid", "")), str(metadata.get("resourceVersion", ""))
        seen, since_s = self._seen.get(key, (None, 0.0))
        if seen != version:
            since_s = self._now_s()
            self._seen[key] = version, since_s
        return since_s

    def _is_free(self, key: str, lease: Object | None) -> bool:
        """Return whether its holder released a Lease, or was silent for too long."""
        since_s, spec = self._observe(key, lease), {} if lease is None else _spec(lease)
        stated_s = float(_non_negative(spec.get("leaseDurationSeconds")))
        if stated_s > MAX_WAIT_S:
            self._warnings.warn("lease-duration-excessive", source=key, stated_s=stated_s, wait_s=MAX_WAIT_S)
        released = not spec.get("holderIdentity") and stated_s == RELEASED_S
        return released or self._now_s() >= since_s + max(self.times.duration_s, min(stated_s, MAX_WAIT_S))

    def _stamp(self) -> str:
        return self._utc_now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _spec(lease: Object) -> dict[str, Any]:
    spec = lease.get("spec")
    return spec if isinstance(spec, dict) else {}


def _non_negative(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0
