"""The last changes of an operator, as its status keeps them: ordered, then settled or given up."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from gesscale.decision import Decision, OutcomeStatus
from gesscale.kubernetes.resource.spans import format_instant
from gesscale.kubernetes.resource.status import HISTORY_AT_MOST, ChangeStatus, entries_of
from gesscale.ports import Knowledge, Reconfiguration

SUPERSEDED = "Superseded"
"""The outcome of a change that a newer one overtook before it had settled."""
UNRECORDED = "Unrecorded"
"""The reason of a change whose controller died before it could write down why."""
_OPEN = frozenset({OutcomeStatus.ORDERED, OutcomeStatus.PARTLY_APPLIED, OutcomeStatus.APPLIED})


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledChange:
    """A change that this step found settled.

    Attributes
    ----------
    at
        When it was ordered, as the history writes it.
    seconds
        From the order until it was found settled.
    downtime_s
        The longest time without a finished batch around it.
    before, after
        Replicas.
    reason
        Why it was ordered.
    placement
        Where the replicas were to be.
    arrived
        Whether they are there; else it was given up when the time was out.
    """

    at: str
    seconds: float
    downtime_s: float
    before: int
    after: int
    reason: str
    placement: tuple[str, ...]
    arrived: bool


def settled_changes(
    old: Mapping[str, Any], known: Knowledge, operator: str, live: Sequence[str] | None, now_s: float
) -> tuple[SettledChange, ...]:
    """Return the changes that the previous status holds as open and that have settled since.

    Parameters
    ----------
    old
        The previous status.
    known
        Knowledge as recalled after the step.
    operator
        Its name.
    live
        The nodes that hold a replica now; None where nobody could tell.
    now_s
        Seconds since the epoch.
    """
    settled = {
        format_instant(change.at_s): change
        for change in known.reconfigurations.get(operator, ())
        if change.downtime_s is not None
    }
    return tuple(
        SettledChange(
            at=at,
            seconds=max(0.0, now_s - change.at_s),
            downtime_s=change.downtime_s or 0.0,
            before=entry.from_,
            after=entry.to,
            reason=entry.reason,
            placement=change.placement,
            arrived=live is None or tuple(sorted(live)) == change.placement,
        )
        for entry in history_of(old)
        if _is_open(entry) and (change := settled.get(at := format_instant(entry.at_s))) is not None
    )


def new_history(
    old: Mapping[str, Any], decision: Decision, known: Knowledge, settled: Sequence[SettledChange]
) -> tuple[ChangeStatus, ...]:
    """Return the history after a step, newest first, bounded.

    Parameters
    ----------
    old
        The previous status.
    decision
        Of the step; a change that it carried out begins the history.
    known
        Knowledge as recalled after the step; a change that only it knows comes into the history too.
    settled
        What `settled_changes` found.
    """
    ends = {change.at: change for change in settled}
    entries = [_closed(entry, ends.get(format_instant(entry.at_s))) for entry in history_of(old)]
    if decision.acted and not any(_is_of(entry, decision) for entry in entries):
        entries = [_begun(decision), *(_superseded(entry) for entry in entries)]
    elif (missed := _unrecorded(old, entries, known.latest(decision.operator))) is not None:
        entries = [missed, *(_superseded(entry) for entry in entries)]
    return tuple(entries[:HISTORY_AT_MOST])


def history_of(status: Mapping[str, Any]) -> tuple[ChangeStatus, ...]:
    """Return the entries of a status that can be read; an older controller may have written others."""
    entries = []
    for item in entries_of(status, "history"):
        try:
            entries.append(ChangeStatus.model_validate(item))
        except ValidationError:
            continue
    return tuple(entries)


def _is_open(entry: ChangeStatus) -> bool:
    return entry.downtime_seconds is None and entry.outcome in _OPEN


def _is_of(entry: ChangeStatus, decision: Decision) -> bool:
    return format_instant(entry.at_s) == format_instant(decision.at_s)


def _closed(entry: ChangeStatus, change: SettledChange | None) -> ChangeStatus:
    if change is None:
        return entry
    outcome = OutcomeStatus.APPLIED if change.arrived else OutcomeStatus.FAILED
    return ChangeStatus(
        at_s=entry.at_s,
        from_=entry.from_,
        to=entry.to,
        reason=entry.reason,
        outcome=outcome.value,
        downtime_seconds=change.downtime_s,
    )


def _superseded(entry: ChangeStatus) -> ChangeStatus:
    return entry.model_copy(update={"outcome": SUPERSEDED}) if _is_open(entry) else entry


def _unrecorded(
    old: Mapping[str, Any], entries: Sequence[ChangeStatus], latest: Reconfiguration | None
) -> ChangeStatus | None:
    """Return the entry of a change that was ordered after all that the history tells of."""
    newest_s = max((entry.at_s for entry in entries), default=-math.inf)
    if latest is None or latest.at_s <= newest_s + 1:  # the history rounds to seconds
        return None
    after = len(latest.placement)
    before = old.get("replicas")
    status = OutcomeStatus.ORDERED if latest.downtime_s is None else OutcomeStatus.APPLIED
    return ChangeStatus(
        at_s=float(latest.at_s),
        from_=before if isinstance(before, int) else after,
        to=after,
        reason=UNRECORDED,
        outcome=status.value,
        downtime_seconds=latest.downtime_s,
    )


def _begun(decision: Decision) -> ChangeStatus:
    return ChangeStatus(
        at_s=float(decision.at_s),
        from_=len(decision.plan.before),
        to=len(decision.plan.placement),
        reason=decision.plan.reason.value,
        outcome=decision.outcome.status.value,
    )
