"""Taking over where the controller before us stopped: from the statuses, the only thing that all controllers share."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gesscale.kubernetes.resource.groups import group_of
from gesscale.kubernetes.resource.memory import MemoryStatus, knowledge_of, read_memory
from gesscale.ports import Knowledge
from gesscale.words import first_of

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredState:
    """What the statuses of a workflow's resources hand down.

    Attributes
    ----------
    known
        Readings, none dated later than now, and memos.
    lost
        Operators whose memory is gone, or broken in part, though something was decided for them.
    """

    known: Knowledge
    lost: frozenset[str]


def restored_state(statuses: Mapping[str, Mapping[str, Any]], now_s: float) -> RestoredState:
    """Read what is handed down.

    Parameters
    ----------
    statuses
        By operator, as they stand in the resources.
    now_s
        Seconds since the epoch. What is dated later, by a clock that ran ahead, counts as of now: else a change that
        is under way would be forgotten until then.
    """
    memories: dict[str, MemoryStatus] = {}
    lost = set()
    for name in statuses:
        status = group_of(statuses, name)
        memories[name], fault_reporter = read_memory(status.get("memory"))
        if fault_reporter:
            dropped = "; ".join(first_of(fault_reporter, len(fault_reporter)))
            _LOG.warning("operator %s: of its status.memory is dropped what cannot be: %s", name, dropped)
        if _is_lost(status, dropped=bool(fault_reporter)):
            lost.add(name)
    known = knowledge_of(memories)
    return RestoredState(
        known=Knowledge(
            readings={
                name: tuple(replace(each, at_s=min(each.at_s, now_s)) for each in readings)
                for name, readings in known.readings.items()
            },
            memos=known.memos,
        ),
        lost=frozenset(lost),
    )


def _is_lost(status: Mapping[str, Any], *, dropped: bool) -> bool:
    """Say whether more must have been known. An order alone need not have reached it: its controller died."""
    if dropped or status.get("memory") is None:
        return bool(status.get("history") or status.get("order"))
    return bool(status.get("history")) and not status.get("order")
