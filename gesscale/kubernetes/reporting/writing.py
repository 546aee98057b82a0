"""What of a new status is worth a write: each one is a revision in etcd, and often a block on an SD card.

A change of state is written at once. Figures and sentences move all the time; they are written when they have moved
noticeably, and not more often than every `REFRESH_S`. A time or an age by itself is no news. Of the order
only what was found of it later is written here: the rest belongs to the cluster adapter.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any

from gesscale.kubernetes.resource.groups import group_of
from gesscale.kubernetes.resource.spans import parse_instant_s

REFRESH_S = 60.0
EVIDENCE_REFRESH_S = 600.0
"""Newer readings of placements that the memory knows already only replace older ones; they can wait, as can memos."""
MOVED_SHARE = 0.05
_ALIKE_MS = 1.0
_OURS_OF_ORDER = ("reason", "before", "settledAt", "givenUp", "downtimeSeconds")


class ChangeWeight(IntEnum):
    """How much a difference is worth."""

    NOTHING = 0
    EVIDENCE = 1
    FIGURE = 2
    STATE = 3


_UNIMPORTANT = frozenset({("lastDecision", "at"), ("latencyMap", "ageSeconds")})
_FIGURES = frozenset(
    {"load", "mst", "ndMaxMs", "parameters", "alpha", "beta", "gamma", "readings", "candidates", "count"}
)
_SENTENCES = frozenset({"message"})


def status_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the merge patch that leads from one status to the next, or None where that is not worth a write.

    Parameters
    ----------
    old
        As it stands in the resource; ``lastDecision.at`` tells when it was written.
    new
        As `gesscale.kubernetes.reporting.new_status` made it.

    Returns
    -------
    dict or None
        RFC 7386: keys that have vanished are null; of ``order`` only what was found of it later.
    """
    wait_s = {
        ChangeWeight.STATE: 0.0,
        ChangeWeight.FIGURE: REFRESH_S,
        ChangeWeight.EVIDENCE: EVIDENCE_REFRESH_S,
    }
    worth = max(_differences((), old, new), default=ChangeWeight.NOTHING)
    if worth is ChangeWeight.NOTHING or _age_s(old, new) < wait_s[worth]:
        return None
    patch = _merge_patch(_ours(old), _ours(new))
    if "order" not in new:
        patch.pop("order", None)
    return patch or None


def merged(target: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Apply a merge patch, as the API server does (RFC 7386).

    Examples
    --------
    >>> merged({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": None}, "d": [2]})
    {'a': {'c': 2}, 'd': [2]}
    """
    result = dict(target)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            inner = result.get(key)
            result[key] = merged(inner if isinstance(inner, Mapping) else {}, value)
        else:
            result[key] = value
    return result


def _merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            if inner := _merge_patch(before, value):
                patch[key] = inner
        elif key not in old or before != value:
            patch[key] = value
    return patch


def _ours(status: Mapping[str, Any]) -> dict[str, Any]:
    ours = {key: value for key, value in status.items() if key != "order"}
    order = group_of(status, "order")
    if found := {key: order[key] for key in _OURS_OF_ORDER if key in order}:
        ours["order"] = found
    return ours


def _age_s(old: Mapping[str, Any], new: Mapping[str, Any]) -> float:
    """Return for how long the old status stands; endless where it does not say when it was written."""
    try:
        written_s = parse_instant_s(old["lastDecision"]["at"])
        return abs(parse_instant_s(new["lastDecision"]["at"]) - written_s)
    except (KeyError, TypeError, ValueError):
        return float("inf")


def _differences(path: tuple[str, ...], old: Any, new: Any) -> Iterator[ChangeWeight]:
    """Yield what each difference below a path is worth."""
    if old == new or path in _UNIMPORTANT:
        return
    if path == ("memory", "readings"):
        yield _evidence_worth(old or (), new or ())
    elif path == ("memory", "memo"):
        yield ChangeWeight.EVIDENCE
    elif path and path[-1] in _SENTENCES:
        yield ChangeWeight.FIGURE if _wording(old) != _wording(new) else ChangeWeight.NOTHING
    elif any(part in _FIGURES for part in path):
        yield from _figure_worth(old, new)
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in {*old, *new}:
            yield from _differences((*path, key), old.get(key), new.get(key))
    elif _are_rows(old) and _are_rows(new) and len(old) == len(new):
        for before, after in zip(old, new, strict=True):
            yield from _differences((*path, "*"), before, after)
    else:
        yield ChangeWeight.STATE


def _are_rows(value: Any) -> bool:
    return isinstance(value, Sequence) and all(isinstance(each, Mapping) for each in value)


def _wording(text: Any) -> str:
    return re.sub(r"\d+(\.\d+)?", "#", str(text or ""))


def _figure_worth(old: Any, new: Any) -> Iterator[ChangeWeight]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in {*old, *new}:
            yield from _figure_worth(old.get(key), new.get(key))
    elif isinstance(old, int | float) and isinstance(new, int | float):
        yield ChangeWeight.FIGURE if moved(old, new) else ChangeWeight.NOTHING
    else:  # it came, it went, or it is in words
        yield ChangeWeight.FIGURE if _wording(old) != _wording(new) else ChangeWeight.NOTHING


def moved(old: float, new: float) -> bool:
    """Say whether a figure moved noticeably, or to, from or across zero.

    Examples
    --------
    >>> moved(100.0, 105.0), moved(100.0, 106.0), moved(0.0, 0.1), moved(0.0, 0.0)
    (False, True, True, False)
    """
    if old == new:
        return False
    return old * new <= 0 or abs(new - old) > MOVED_SHARE * abs(old)


def _evidence_worth(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> ChangeWeight:
    """Judge readings: one of a placement unknown so far changes what a new controller would conclude."""
    fresh = [each for each in new if not any(_is_alike(each, known) for known in old)]
    return ChangeWeight.STATE if fresh else ChangeWeight.EVIDENCE


def _is_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    same = all(one.get(key) == other.get(key) for key in ("saturated", "replicas"))
    here, there = one.get("ndMaxMs", 0.0), other.get("ndMaxMs", 0.0)
    return same and abs(here - there) <= max(_ALIKE_MS, MOVED_SHARE * abs(there))
