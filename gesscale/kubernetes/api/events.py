"""Events that ``kubectl describe`` shows on a StreamAutoscaler: best effort, never used as state.

They are written through events.k8s.io/v1, not core/v1. It is the API for new reporters, and it checks what is
written. Its series count in one object how often the same thing came again. ``kubectl describe`` and ``get events``
show its objects.

The package ``kubernetes`` has no recorder, so this follows client-go in small. The first event of its kind creates an
object. The same again within an interval only raises the count of its series, at most once per `REFRESH_S`.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any
from uuid import uuid4

from gesscale.kubernetes.api.connection import Connection, Object
from gesscale.kubernetes.api.faults import ApiError
from gesscale.kubernetes.api.resources import EVENTS, STREAM_AUTOSCALERS
from gesscale.wire import group_of, text_of

CONTROLLER = "gesscale.dev/controller"
#: What the API takes at most.
NOTE_CHARS = 1024
#: The same thing after a longer silence is a new event; events live for an hour.
INTERVAL_S = 1800.0
REFRESH_S = 300.0
REMEMBERED = 1000
_NAME_CHARS = 200
_INSTANCE_CHARS = 128


_LOG = logging.getLogger(__name__)


class EventType(StrEnum):
    """Whether people should look."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Incident(StrEnum):
    """The reasons of our events."""

    RESCALING = "Rescaling"
    SUCCESSFUL_RESCALE = "SuccessfulRescale"
    FAILED_RESCALE = "FailedRescale"
    SCALING_REPORT = "ScalingReport"
    SCALING_VETOED = "ScalingVetoed"
    SCALING_LIMITED = "ScalingLimited"
    METRICS_MISSING = "MetricsMissing"
    MODEL_REFITTED = "ModelRefitted"
    PAUSED = "Paused"
    RESUMED = "Resumed"
    OVERRIDDEN = "Overridden"
    INVALID_SPEC = "InvalidSpec"


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event worth writing."""

    #: Whether people should look.
    kind: EventType
    #: What happened, in a word.
    reason: Incident
    #: The same in a sentence; cut at 1024 characters.
    message: str
    #: What makes two of them the same, where the message has figures that change each time; None for the
    #: message.
    same: str | None = None


@dataclass(slots=True, kw_only=True)
class _Series:
    name: str
    count: int
    last_s: float
    written_s: float


class Events:
    """Writes events; a fault is logged and never raised."""

    def __init__(self, writer: Connection, instance: str, *, now_s: Callable[[], float] = time.time) -> None:
        self._writer, self._now_s = writer, now_s
        self._instance = instance[:_INSTANCE_CHARS] or "unknown"
        self._series: OrderedDict[str, _Series] = OrderedDict()
        self._lock = threading.Lock()
        self._problem = ""

    def publish(self, autoscaler: Mapping[str, Any], event: EventDraft) -> None:
        """Say that something happened to a StreamAutoscaler, an object of the API."""
        now_s = self._now_s()
        about = _reference(autoscaler)
        key = _key(about, event)
        with self._lock:
            series = self._series.get(key)
            if series is not None and now_s - series.last_s <= INTERVAL_S:
                series.count, series.last_s = series.count + 1, now_s
                self._series.move_to_end(key)
                if now_s - series.written_s < REFRESH_S:
                    return
            else:
                series = None
        try:
            if series is None or not self._raise_count(about["namespace"], series, now_s):
                self._create(key, about, event, now_s)
            self._problem = ""
        except ApiError as fault:
            if str(fault) != self._problem:
                _LOG.warning("an event is lost: %s", fault)
            self._problem = str(fault)

    def _raise_count(self, namespace: str, series: _Series, now_s: float) -> bool:
        """Write the count; False where the event has expired meanwhile."""
        series.written_s = now_s
        body: Object = {"series": {"count": series.count, "lastObservedTime": _micro_time(series.last_s)}}
        try:
            self._writer.patch(EVENTS, series.name, body, namespace=namespace)
        except ApiError as fault:
            if fault.absent:
                return False
            raise
        return True

    def _create(self, key: str, about: Mapping[str, str], event: EventDraft, now_s: float) -> None:
        name = f"{about['name'][:_NAME_CHARS]}.{uuid4().hex[:16]}"
        body: Object = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": about["namespace"]},
            "eventTime": _micro_time(now_s),
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
            "action": "Scale",
            "reason": event.reason.value,
            "type": event.kind.value,
            "note": _cut(event.message),
            "regarding": dict(about),
        }
        self._writer.create(EVENTS, body, namespace=about["namespace"])
        with self._lock:
            self._series[key] = _Series(name=name, count=1, last_s=now_s, written_s=now_s)
            self._series.move_to_end(key)
            while len(self._series) > REMEMBERED:
                self._series.popitem(last=False)


def _reference(autoscaler: Mapping[str, Any]) -> dict[str, str]:
    metadata = group_of(autoscaler, "metadata")
    return {
        "apiVersion": STREAM_AUTOSCALERS.api_version,
        "kind": STREAM_AUTOSCALERS.kind,
        **{part: text_of(metadata, part) for part in ("namespace", "name", "uid")},
    }


def _key(about: Mapping[str, str], event: EventDraft) -> str:
    same = event.message if event.same is None else event.same
    parts = (*about.values(), event.reason.value, event.kind.value, same)
    return sha256("\0".join(parts).encode()).hexdigest()


def _cut(note: str) -> str:
    return note if len(note) <= NOTE_CHARS else note[: NOTE_CHARS - 4] + " ..."


def _micro_time(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
