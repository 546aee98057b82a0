"""Cache of the objects of one kind, kept current by list and watch, which reports how old its view is.

Why not `kubernetes.informer.SharedInformer` (37.0.2), which has the same purpose:

- After 401, 403, 500, a refused connection or a broken line it reopens the watch at once. A local server that denied
  each watch got more than a thousand requests a minute with 403, and ten times as many with a broken line. Only after
  a 429 or 503 with Retry-After does urllib3 wait, and that wait cannot be interrupted.
- It does not ask for bookmarks, so a quiet kind expires and is listed again in full. It lists without pages.
- It builds typed objects and keeps them whole; they cannot be trimmed first.
- It does not report that its view is stale, since when, or why.

Replacing its list function would add pages only. `kubernetes.watch.Watch`, one layer below, builds typed objects too
and returns a broken line as None. Without typed objects it raises KeyError at an ERROR event, which hides the 410 in
it. What remains of it splits a stream into lines; `Connection.watch` does that.
"""

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from gesscale.common.errors import Problem
from gesscale.common.logs import log_problem
from gesscale.kubernetes.api.connection import Connection, ResponseLines
from gesscale.kubernetes.api.errors import ApiError, Call, error_of_response, invalid_response
from gesscale.kubernetes.api.resources import Resource

MAX_DOUBLINGS = 32


@dataclass(slots=True, kw_only=True)
class Backoff:
    """Exponential backoff with jitter: waits double from the first to the longest, drawn from the upper half."""

    #: Draws from [0, 1).
    random: Callable[[], float]
    first_s: float = 0.5
    max_s: float = 60.0
    #: Failures since the last success.
    failures: int = field(default=0, init=False)

    def next_wait_s(self, retry_after_s: float | None = None) -> float:
        """Return how long to wait after one more failure; at least the server's Retry-After.

        Examples
        --------
        >>> backoff = Backoff(random=lambda: 0.0, first_s=1.0, max_s=5.0)
        >>> [backoff.next_wait_s() for _ in range(5)], backoff.next_wait_s(retry_after_s=7)
        ([0.5, 1.0, 2.0, 2.5, 2.5], 9.5)
        """
        whole_s = min(self.first_s * 2.0 ** min(self.failures, MAX_DOUBLINGS), self.max_s)
        self.failures += 1
        drawn_s = whole_s * (0.5 + 0.5 * self.random())
        return drawn_s if retry_after_s is None else drawn_s + retry_after_s

    def reset(self) -> None:
        """Reset the backoff."""
        self.failures = 0


T = TypeVar("T")
_LOG = logging.getLogger(__name__)

#: A watch that lasted this long, or delivered a line, resets the backoff.
_STEADY_S = 5.0
_CAUSE_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class View(Generic[T]):
    """Objects of one kind as known at one instant."""

    #: The kept part of each, by ``namespace/name``, or by name for kinds without namespaces.
    objects: Mapping[str, T]
    #: False until all of them were listed once; before that an empty view has no meaning.
    listed: bool = False
    #: Time since which changes may have been missed; None while the view is current.
    stale_since_s: float | None = None
    #: The reason; None while the view is current.
    problem: Problem | None = None

    @property
    def fresh(self) -> bool:
        """Whether it is complete and current; decisions need a fresh view."""
        return self.listed and self.stale_since_s is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Clock, waits and random source, replaceable in tests."""

    #: Seconds since the epoch.
    now_s: Callable[[], float] = time.time
    #: Waits; returns True if the wait was cut short by a stop. None waits for `Cache.stop`.
    sleep: Callable[[float], bool] | None = None
    #: Draws from [0, 1).
    random: Callable[[], float] = random.random
    first_wait_s: float = 0.5
    max_wait_s: float = 60.0
    #: Minimum duration of one watch; up to half as much again is added at random.
    watch_s: float = 300.0


class Cache(Generic[T]):
    """Objects of one kind, kept current by a thread.

    An error never empties it: the last objects stay, and the view has since when it is stale and why.

    Parameters
    ----------
    keep
        Returns the part of an object to keep, as small as possible; None to keep nothing. It may raise ValueError or
        `GesscaleError` for an object that it cannot read.
    namespace
        None for all.
    """

    def __init__(
        self,
        source: Connection,
        resource: Resource,
        keep: Callable[[Mapping[str, Any]], T | None],
        *,
        namespace: str | None = None,
        on_change: Callable[[], None] = lambda: None,
        timing: Timing = Timing(),
    ) -> None:
        self._source, self.resource, self._keep, self._timing = source, resource, keep, timing
        self._namespace = namespace
        self._call = Call(verb="watch", resource=resource, namespace=namespace)
        self._on_change = on_change
        self._backoff = Backoff(random=timing.random, first_s=timing.first_wait_s, max_s=timing.max_wait_s)
        self._stopping = threading.Event()
        self._sleep = timing.sleep or self._stopping.wait
        self._lock = threading.Lock()
        self._objects: dict[str, T] = {}
        self._version: str | None = None
        self._has_expired = False
        self._lines: ResponseLines | None = None
        self._thread: threading.Thread | None = None
        self._view: View[T] = View(objects=MappingProxyType({}), problem=Problem("watch-not-started"))
        self._contact_s = timing.now_s()

    def snapshot(self) -> View[T]:
        """Return the current view, an immutable value."""
        with self._lock:
            return self._view

    def start(self) -> None:
        """Start `run` in a thread."""
        name = f"watch-{self.resource.plural}"
        self._thread = threading.Thread(target=self.run, name=name, daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """End the thread; the view remains."""
        self._stopping.set()
        with self._lock:
            lines = self._lines
        if lines is not None:
            lines.interrupt()
        if self._thread is not None:
            self._thread.join(timeout_s)

    def run(self) -> None:
        """List and watch until `stop`."""
        while not self._stopping.is_set():
            wait_s = self._round()
            if self._stopping.is_set() or (wait_s > 0 and self._sleep(wait_s)):
                return

    def _round(self) -> float:
        """List if needed, watch until the watch ends; return how long to wait then."""
        try:
            if self._version is None:
                self._list()
            steady = self._watch(self._version or "")
        except ApiError as error:
            if error.expired or error.reason == "BrokenAnswer":
                if not self._has_expired:
                    self._backoff.reset()  # the server responds again, perhaps after a long time: list at once
                self._version = None
            self._has_expired = self._version is None
            return self._fail(error.problem, error.retry_after_s)
        except Exception as error:  # noqa: BLE001  # a dead thread would leave a view that looks fresh for ever
            self._version = None
            fields = {"request": self._call.text, "cause": f"{type(error).__name__}: {error}"}
            return self._fail(Problem("watch-failed", fields))
        if steady:
            self._backoff.reset()
            return 0.0
        return self._fail(Problem("watch-closed-early", {"request": self._call.text}))

    def _fail(self, problem: Problem, retry_after_s: float | None = None) -> float:
        if self._stopping.is_set():
            return 0.0
        with self._lock:
            since_s = self._view.stale_since_s
            self._update(stale_since_s=self._contact_s if since_s is None else since_s, problem=problem)
        self._on_change()
        return self._backoff.next_wait_s(retry_after_s)

    def _list(self) -> None:
        objects: dict[str, T] = {}
        version = ""
        for page in self._source.pages(self.resource, namespace=self._namespace):
            items, version = page.get("items") or (), page.get("metadata", {}).get("resourceVersion", "")
            for item in items:
                self._take(item, objects)
            if self._stopping.is_set():
                return
        with self._lock:
            self._objects, self._version = objects, str(version)
            self._update(changed=True, contact=True)
        self._on_change()

    def _watch(self, version: str) -> bool:
        """Follow the changes; return whether the watch resets the backoff."""
        timing = self._timing
        opened_s = timing.now_s()
        lines = self._source.watch(
            self.resource,
            resource_version=version,
            lasts_s=timing.watch_s * (1.0 + 0.5 * timing.random()),
            namespace=self._namespace,
        )
        with self._lock:
            self._lines = lines
            was_stale = self._view.stale_since_s is not None
            self._update(contact=True)
        if was_stale:
            self._on_change()
        received = False
        try:
            if not self._stopping.is_set():
                for line in lines:
                    self._follow(line)
                    received = True
        except ApiError as error:
            if error.reason != "Timeout":
                raise  # a silent watch is not an error: it is opened again, which shows whether the server is reachable
        finally:
            with self._lock:
                self._lines = None
            lines.close()
        return received or timing.now_s() - opened_s >= _STEADY_S

    def _follow(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            kind, item = event["type"], event["object"]
            version = "" if kind == "ERROR" else str(item["metadata"]["resourceVersion"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise invalid_response(self._call, f"the line {line[:60]!r}") from None
        if kind == "ERROR":
            raise _error_of(self._call, item)
        with self._lock:
            if kind == "DELETED":
                self._objects.pop(_key(item), None)
            elif kind in {"ADDED", "MODIFIED"}:
                self._take(item, self._objects)
            self._version = version
            self._update(changed=kind != "BOOKMARK", contact=True)
        if kind != "BOOKMARK":
            self._on_change()

    def _take(self, item: Mapping[str, Any], objects: dict[str, T]) -> None:
        """Keep the needed part of an object; one that cannot be read keeps its former state."""
        try:
            key = _key(item)
        except (KeyError, TypeError):
            raise invalid_response(self._call, f"the object {str(item)[:60]!r}") from None
        try:
            kept = self._keep(item)
        except Exception as error:  # noqa: BLE001  # one object that cannot be read must not hide the others
            cause = " ".join(str(error).split())[:_CAUSE_CHARS]
            log_problem(_LOG, logging.WARNING, "object-unreadable", source=f"{self.resource.plural} {key}", cause=cause)
            kept = self._objects.get(key)
        if kept is None:
            objects.pop(key, None)
        else:
            objects[key] = kept

    def _update(
        self,
        *,
        changed: bool = False,
        contact: bool = False,
        stale_since_s: float | None = None,
        problem: Problem | None = None,
    ) -> None:
        """Replace the view; the lock must be held."""
        before = self._view
        if contact:
            self._contact_s = self._timing.now_s()
        self._view = View(
            objects=MappingProxyType(dict(self._objects)) if changed else before.objects,
            listed=before.listed or changed,
            stale_since_s=stale_since_s,
            problem=problem,
        )


def _key(item: Mapping[str, Any]) -> str:
    metadata = item["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def _error_of(call: Call, status: object) -> ApiError:
    """Return the error that an ERROR event contains."""
    code = status.get("code") if isinstance(status, Mapping) else None
    if not isinstance(code, int):
        return invalid_response(call, f"the error event {str(status)[:60]!r}")
    return error_of_response(call, code, "", json.dumps(status))
