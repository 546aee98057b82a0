"""Finds changes that are undone: replicas that are added and soon removed again, or removed and added again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: A change is undone if its replicas are taken back within this time.
UNDONE_WITHIN_S = 600.0


def undone_changes(changes: Iterable[tuple[float, int]], within_s: float = UNDONE_WITHIN_S) -> tuple[float, ...]:
    """Return the instants of an operator's changes that were undone.

    A change is undone if later changes, within a time after it, take back at least one of its replicas: they remove a
    replica that it added, or add one that it removed. The latest replicas are taken back first. A change that only
    moves replicas to other nodes undoes nothing and is never undone.

    Parameters
    ----------
    changes
        Instant, and number of replicas added less those removed, in the order of time.
    within_s
        The time.

    Examples
    --------
    Two are added, one of them is removed after five minutes and added again after another five; the last removal
    comes too late:

    >>> undone_changes([(0, 2), (300, -1), (600, 1), (1300, -1)])
    (0, 300)
    """
    # One entry for each replica that was not taken back: instant and number of its change. Added ones, removed ones.
    recent: dict[bool, list[tuple[float, int]]] = {True: [], False: []}
    undone = set[tuple[float, int]]()
    for number, (at_s, added) in enumerate(changes):
        others = recent[added < 0]
        for _ in range(min(abs(added), len(others))):
            if at_s - others[-1][0] > within_s:
                break
            undone.add(others.pop())
        recent[added > 0] += [(at_s, number)] * abs(added)
    return tuple(at_s for at_s, _ in sorted(undone))


_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesLastHour:
    """Changes of an operator in the last hour, and those of them that were undone."""

    ordered: int
    undone: int

    @classmethod
    def of(cls, changes: Sequence[tuple[float, int]], at_s: float) -> "ChangesLastHour":
        """Count the changes of the hour before an instant; see `undone_changes`."""
        past = [change for change in changes if change[0] <= at_s]
        since_s = at_s - _HOUR_S
        return cls(
            ordered=sum(changed_s > since_s for changed_s, _ in past),
            undone=sum(changed_s > since_s for changed_s in undone_changes(past)),
        )
