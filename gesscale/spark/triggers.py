"""When the batches of a query begin, and what a scaler can do with such a query."""

import re
from dataclasses import dataclass
from typing import Any

_TEXT = re.compile(r"(\w+Trigger)(?:\((\d+)\))?")


@dataclass(frozen=True, slots=True)
class QueryTrigger:
    """The trigger of a running query."""

    #: Spark's name of its class, such as ``ProcessingTimeTrigger``; empty where it cannot be read.
    kind: str = ""
    #: Its interval; for Real-Time Mode how long a batch lasts. 0 for none.
    interval_ms: int = 0

    @property
    def fixed_slots(self) -> int | None:
        """1 where the tasks of a batch hold their slots until it ends, else 0; None where that is unknown."""
        return int(self.kind in {"RealTimeTrigger", "ContinuousTrigger"}) if self.kind else None

    def interval_s(self, said_s: float | None) -> float | None:
        """Return the interval by which a batch can be late; None where there is none."""
        if not self.kind:
            return said_s
        return self.interval_ms / 1000 if self.kind == "ProcessingTimeTrigger" and self.interval_ms else None

    def warnings(self, said_s: float | None) -> list[str]:
        """Return what the user should know about it, one sentence each."""
        if self.kind in {"AvailableNowTrigger", "OneTimeTrigger"}:
            name = "availableNow" if self.kind == "AvailableNowTrigger" else "once"
            return [f"its trigger is {name}: it ends when all is read, so there is no load to scale it by"]
        if self.kind == "RealTimeTrigger":
            return [
                f"Real-Time Mode: a batch lasts {self.interval_ms / 1000:g} s and holds its slots until it ends; "
                "its replicas are watched and never changed (condition FixedSlots)"
            ]
        if self.kind == "ContinuousTrigger":
            return ["its trigger is continuous: its tasks hold their slots, so its replicas are never changed"]
        if self.kind == "ProcessingTimeTrigger" and self.interval_ms == 0:
            return [
                "it has no trigger interval: it always looks busy, and a late batch cannot be told. "
                "Give the query .trigger(processingTime='2 seconds')"
            ]
        own_s = self.interval_s(said_s)
        if said_s is not None and own_s is not None and own_s != said_s:
            return [f"attach says trigger_s={said_s:g}, the query's trigger is {own_s:g} s; the query's holds"]
        return []


UNKNOWN_TRIGGER = QueryTrigger()


def parse_trigger(text: str) -> QueryTrigger:
    """Read a trigger as Spark writes it.

    Examples
    --------
    >>> parse_trigger("RealTimeTrigger(5000)")
    QueryTrigger(kind='RealTimeTrigger', interval_ms=5000)
    >>> parse_trigger("something else") == UNKNOWN_TRIGGER
    True
    """
    found = _TEXT.match(text)
    return QueryTrigger(found[1], int(found[2] or 0)) if found else UNKNOWN_TRIGGER


def trigger_of(spark: Any, query_id: str) -> QueryTrigger:
    """Return the trigger of an active query of a session; an unknown one where it is not this session's."""
    found = spark._jsparkSession.streams().get(query_id)
    if found is None:
        return UNKNOWN_TRIGGER
    return parse_trigger(str(found.streamingQuery().trigger().toString()))
