"""Events on StreamAutoscalers, as shown by ``kubectl describe``: best effort, never used as state.

They are written through the core API: events.k8s.io/v1 refuses ``lastTimestamp``, by which kubectl sorts.

The package ``kubernetes`` has no event recorder, so this one follows client-go. The first event of its kind creates an
object. A repetition within `INTERVAL_S` only increments its count, at most once per `REFRESH_S`.
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

from gesscale.common.logs import log_problem
from gesscale.common.text import cut_at_word
from gesscale.kubernetes.api.connection import Connection, Object
from gesscale.kubernetes.api.errors import ApiError
from gesscale.kubernetes.api.resources import EVENTS, STREAM_AUTOSCALERS
from gesscale.wire import group_of, text_of

CONTROLLER = "gesscale.dev/controller"
#: Longest message of an event by the API's conventions.
MESSAGE_CHARS = 1024
#: A repetition after a longer silence is a new event; events live for an hour.
INTERVAL_S = 1800.0
REFRESH_S = 300.0
REMEMBERED = 1000
_NAME_CHARS = 200
_INSTANCE_CHARS = 128


_LOG = logging.getLogger(__name__)


class EventType(StrEnum):
    """Type of an event, as Kubernetes defines it."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Incident(StrEnum):
    """Reasons of events that are no reasons of a condition."""

    RESCALING = "Rescaling"
    SUCCESSFUL_RESCALE = "SuccessfulRescale"
    FAILED_RESCALE = "FailedRescale"
    SCALING_REPORT = "ScalingReport"
    NODE_LEFT = "NodeLeft"
    REPLICA_LOST = "ReplicaLost"
    REPLICA_REPLACED = "ReplicaReplaced"


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event to publish."""

    #: Normal or Warning.
    kind: EventType
    #: An `Incident`, or the reason of a condition.
    reason: str
    #: The sentence; cut at 1024 characters.
    message: str
    #: Key by which repetitions are recognised, for messages whose figures change each time; None: the
    #: message.
    repetition_key: str | None = None


@dataclass(slots=True, kw_only=True)
class _Series:
    name: str
    count: int
    last_s: float
    written_s: float


class Events:
    """Publishes events; a failure is logged, never raised."""

    def __init__(self, writer: Connection, instance: str, *, now_s: Callable[[], float] = time.time) -> None:
        self._writer, self._now_s = writer, now_s
        self._instance = instance[:_INSTANCE_CHARS] or "unknown"
        self._series: OrderedDict[str, _Series] = OrderedDict()
        self._lock = threading.Lock()
        self._last_failure = ""

    def publish(self, autoscaler: Mapping[str, Any], event: EventDraft) -> None:
        """Publish an event about a StreamAutoscaler, an object of the API."""
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
            self._last_failure = ""
        except ApiError as error:
            if str(error) != self._last_failure:
                log_problem(_LOG, logging.WARNING, "event-not-written", reason=event.reason, cause=str(error))
            self._last_failure = str(error)

    def _raise_count(self, namespace: str, series: _Series, now_s: float) -> bool:
        """Write the count; return False if the event has expired."""
        series.written_s = now_s
        body: Object = {"count": series.count, "lastTimestamp": _time(series.last_s)}
        try:
            self._writer.patch(EVENTS, series.name, body, namespace=namespace)
        except ApiError as error:
            if error.not_found:
                return False
            raise
        return True

    def _create(self, key: str, about: Mapping[str, str], event: EventDraft, now_s: float) -> None:
        name = f"{about['name'][:_NAME_CHARS]}.{uuid4().hex[:16]}"
        body: Object = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": about["namespace"]},
            "firstTimestamp": _time(now_s),
            "lastTimestamp": _time(now_s),
            "count": 1,
            "source": {"component": CONTROLLER, "host": self._instance},
            "reportingComponent": CONTROLLER,
            "reportingInstance": self._instance,
            "reason": event.reason,
            "type": event.kind.value,
            "message": cut_at_word(event.message, MESSAGE_CHARS),
            "involvedObject": dict(about),
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
    repetition_key = event.message if event.repetition_key is None else event.repetition_key
    parts = (*about.values(), event.reason, event.kind.value, repetition_key)
    return sha256("\0".join(parts).encode()).hexdigest()


def _time(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
