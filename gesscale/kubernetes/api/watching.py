"""What the cluster holds of one kind, kept up to date by list and watch, and honest about its age.

Why not `kubernetes.informer.SharedInformer` (37.0.2), which has the same purpose:

- After 401, 403, 500, a refused connection or a broken line it opens the watch again at once. A local server that
  refused each watch got more than a thousand requests a minute with 403, and ten times as many with a broken line.
  Only after a 429 or 503 with Retry-After does urllib3 wait, and then it cannot be stopped.
- It does not ask for bookmarks, so a quiet kind expires and is listed whole. It lists without pages.
- It builds typed objects and keeps them whole; they cannot be trimmed before.
- It does not say that its view is old, since when, or why.

To wrap its list function would repair the pages only. `kubernetes.watch.Watch`, one layer below, builds typed objects
too and hands out a broken line as None. Asked not to build them, it raises KeyError at an ERROR event instead of the
410 in it. What remains of it cuts a stream into lines; `Connection.watch` does that.
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

from gesscale.kubernetes.api.connection import Connection, Lines
from gesscale.kubernetes.api.faults import ApiError, Call, broken_answer, from_answer
from gesscale.kubernetes.api.resources import Resource

MOST_DOUBLINGS = 32


@dataclass(slots=True, kw_only=True)
class Backoff:
    """Waits that double from the first to the longest, each drawn from its upper half."""

    #: Draws from [0, 1).
    random: Callable[[], float]
    first_s: float = 0.5
    longest_s: float = 60.0
    #: How many there were since the last success.
    faults: int = field(default=0, init=False)

    def after_fault_s(self, retry_after_s: float | None = None) -> float:
        """Return how long to wait after one more fault; at least as long as the server asks for.

        Examples
        --------
        >>> backoff = Backoff(random=lambda: 0.0, first_s=1.0, longest_s=5.0)
        >>> [backoff.after_fault_s() for _ in range(5)], backoff.after_fault_s(retry_after_s=7)
        ([0.5, 1.0, 2.0, 2.5, 2.5], 9.5)
        """
        whole_s = min(self.first_s * 2.0 ** min(self.faults, MOST_DOUBLINGS), self.longest_s)
        self.faults += 1
        drawn_s = whole_s * (0.5 + 0.5 * self.random())
        return drawn_s if retry_after_s is None else drawn_s + retry_after_s

    def succeeded(self) -> None:
        """Begin again."""
        self.faults = 0


T = TypeVar("T")
_LOG = logging.getLogger(__name__)

#: A watch that lasted as long, or brought a line, was a good one.
_STEADY_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class View(Generic[T]):
    """What is known of a kind at one instant."""

    #: What was kept of each, by ``namespace/name``, or by name for kinds without namespaces.
    objects: Mapping[str, T]
    #: False until all of them were listed once; before that an empty view says nothing.
    listed: bool = False
    #: Since when changes may have been missed; None while none can have been.
    stale_since_s: float | None = None
    #: Why; empty while none can have been.
    problem: str = ""

    @property
    def fresh(self) -> bool:
        """Whether it is whole and no change can have been missed: only then may be acted on it."""
        return self.listed and self.stale_since_s is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Time and chance, so that tests can set them."""

    #: Seconds since the epoch.
    now_s: Callable[[], float] = time.time
    #: Waits; returns True where the wait was ended early because all is to stop. None waits for `Cache.stop`.
    sleep: Callable[[float], bool] | None = None
    #: Draws from [0, 1).
    random: Callable[[], float] = random.random
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    #: How long one watch lasts at least; half as much again is drawn.
    watch_s: float = 300.0


class Cache(Generic[T]):
    """One kind of objects, kept up to date by a thread of its own.

    A fault never empties it: what was seen last stays, and the view says since when it is stale and why.

    Parameters
    ----------
    keep
        What to keep of an object, as small as possible; None to keep nothing. It may raise ValueError or
        `GesscaleError` at an object that it cannot read.
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
        self._backoff = Backoff(random=timing.random, first_s=timing.first_wait_s, longest_s=timing.longest_wait_s)
        self._stopping = threading.Event()
        self._sleep = timing.sleep or self._stopping.wait
        self._lock = threading.Lock()
        self._objects: dict[str, T] = {}
        self._version: str | None = None
        self._lines: Lines | None = None
        self._thread: threading.Thread | None = None
        self._view: View[T] = View(objects=MappingProxyType({}), problem="nothing was listed yet")
        self._heard_s = timing.now_s()

    def snapshot(self) -> View[T]:
        """Return what is known now; it does not change any more."""
        with self._lock:
            return self._view

    def start(self) -> None:
        """Begin, in a thread."""
        name = f"watch-{self.resource.plural}"
        self._thread = threading.Thread(target=self.run, name=name, daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """End the thread; the view stays."""
        self._stopping.set()
        with self._lock:
            lines = self._lines
        if lines is not None:
            lines.interrupt()
        if self._thread is not None:
            self._thread.join(timeout_s)

    def run(self) -> None:
        """List and watch until `stop`; what `start` does in a thread."""
        while not self._stopping.is_set():
            wait_s = self._round()
            if self._stopping.is_set() or (wait_s > 0 and self._sleep(wait_s)):
                return

    def _round(self) -> float:
        """List where that is due, watch until the watch ends; return how long to wait then."""
        try:
            if self._version is None:
                self._list()
            steady = self._watch(self._version or "")
        except ApiError as fault:
            if fault.expired or fault.reason == "BrokenAnswer":
                self._version = None
            return self._note(str(fault), fault.retry_after_s)
        except Exception as error:  # noqa: BLE001  # a dead thread would leave a view that looks fresh for ever
            self._version = None
            return self._note(f"cannot {self._call.sentence}: {type(error).__name__}: {error}")
        if steady:
            self._backoff.succeeded()
            return 0.0
        return self._note(f"cannot {self._call.sentence}: the API server ends it at once")

    def _note(self, problem: str, retry_after_s: float | None = None) -> float:
        if self._stopping.is_set():
            return 0.0
        with self._lock:
            since_s = self._view.stale_since_s
            self._show(stale_since_s=self._heard_s if since_s is None else since_s, problem=problem)
        self._on_change()
        return self._backoff.after_fault_s(retry_after_s)

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
            self._show(changed=True, heard=True)
        self._on_change()

    def _watch(self, version: str) -> bool:
        """Follow the changes; return whether the watch was a good one."""
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
            self._show(heard=True)
        if was_stale:
            self._on_change()
        heard = False
        try:
            if not self._stopping.is_set():
                for line in lines:
                    self._follow(line)
                    heard = True
        except ApiError as fault:
            if fault.reason != "Timeout":
                raise  # a silent watch is none: it is opened again, and that tells whether the server is there
        finally:
            with self._lock:
                self._lines = None
            lines.close()
        return heard or timing.now_s() - opened_s >= _STEADY_S

    def _follow(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            kind, item = event["type"], event["object"]
            version = "" if kind == "ERROR" else str(item["metadata"]["resourceVersion"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise broken_answer(self._call, f"the line {line[:60]!r}") from None
        if kind == "ERROR":
            raise _said_by(self._call, item)
        with self._lock:
            if kind == "DELETED":
                self._objects.pop(_key(item), None)
            elif kind in {"ADDED", "MODIFIED"}:
                self._take(item, self._objects)
            self._version = version
            self._show(changed=kind != "BOOKMARK", heard=True)
        if kind != "BOOKMARK":
            self._on_change()

    def _take(self, item: Mapping[str, Any], objects: dict[str, T]) -> None:
        """Keep what is needed of an object; of one that cannot be read its former state stays."""
        try:
            key = _key(item)
        except (KeyError, TypeError):
            raise broken_answer(self._call, f"the object {str(item)[:60]!r}") from None
        try:
            kept = self._keep(item)
        except Exception as error:  # noqa: BLE001  # one object that cannot be read must not hide the others
            _LOG.warning("%s %s: %s", self.resource.plural, key, " ".join(str(error).split())[:300])
            kept = self._objects.get(key)
        if kept is None:
            objects.pop(key, None)
        else:
            objects[key] = kept

    def _show(
        self, *, changed: bool = False, heard: bool = False, stale_since_s: float | None = None, problem: str = ""
    ) -> None:
        """Put a new view in the place of the old one; the lock is held."""
        before = self._view
        if heard:
            self._heard_s = self._timing.now_s()
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


def _said_by(call: Call, status: object) -> ApiError:
    """Return the fault that an ERROR event tells of."""
    code = status.get("code") if isinstance(status, Mapping) else None
    if not isinstance(code, int):
        return broken_answer(call, f"the error event {str(status)[:60]!r}")
    return from_answer(call, code, "", json.dumps(status))
