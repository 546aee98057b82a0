"""The lag over time, and what of it lies above some objectives, in bounded memory."""

from collections import deque
from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

_PIECES_KEPT = 256


class _Piece(NamedTuple):
    """From one instant until another; between them the instant at which the oldest row was offered moves evenly."""

    from_s: float
    until_s: float
    oldest_from_s: float
    oldest_until_s: float

    def part(self, from_s: float, until_s: float) -> "_Piece":
        """Return what lies between two instants."""
        return _Piece(from_s, until_s, self.oldest_s(from_s), self.oldest_s(until_s))

    def oldest_s(self, at_s: float) -> float:
        """Return when the oldest row at an instant was offered."""
        rise_s = self.oldest_until_s - self.oldest_from_s
        if rise_s == 0:
            return self.oldest_from_s
        return self.oldest_from_s + rise_s * (at_s - self.from_s) / (self.until_s - self.from_s)


class LagCurve:
    """When the oldest row was offered that is not through, at each instant; the lag is the time since then.

    Rows come about in the order of their arrival. A row that arrives later was there before, too, so the oldest row of
    an instant is never newer than that of a later one. Where a row arrives that others have overtaken, what is there
    becomes older. Only the newest 256 pieces can still become older; the others are summed up.

    Parameters
    ----------
    objectives_s
        The lags of interest, seconds, ascending. Pieces that stay below the first are not kept.
    """

    __slots__ = ("_areas_s2", "_objectives_s", "_pieces", "_seconds", "_summed_until_s")

    def __init__(self, objectives_s: Sequence[float]) -> None:
        self._objectives_s = tuple(objectives_s)
        self._pieces: deque[_Piece] = deque()
        self._summed_until_s = float("-inf")
        self._seconds = [0.0] * len(self._objectives_s)
        self._areas_s2 = [0.0] * len(self._objectives_s)

    def add(self, from_s: float, until_s: float, offered_from_s: float, offered_until_s: float) -> None:
        """Take rows that arrived evenly and in order from one instant until another, or all at one.

        Parameters
        ----------
        from_s, until_s
            When the first and the last of them arrived; the last not before any that arrived earlier.
        offered_from_s, offered_until_s
            When they were offered.
        """
        overlapping = self._cut(from_s)
        self._wait(offered_from_s, from_s)
        arriving = _Piece(from_s, until_s, offered_from_s, offered_until_s)
        for piece in overlapping:
            self._append(arriving.part(from_s, piece.from_s))
            for lower in _lower(piece, arriving.part(piece.from_s, piece.until_s)):
                self._append(lower)
            from_s = piece.until_s
        if until_s > from_s:
            self._append(arriving.part(from_s, until_s))

    def with_rows_left(self, since_s: float, until_s: float) -> "LagCurve":
        """Return another in which rows that were offered since an instant are not through until another."""
        other = copy(self)
        other._pieces = self._pieces.copy()
        other._seconds, other._areas_s2 = list(self._seconds), list(self._areas_s2)
        other.add(until_s, until_s, since_s, since_s)
        return other

    def seconds_above(self) -> tuple[float, ...]:
        """Return for each objective the time in which the lag was above it."""
        return tuple(
            total + sum(_above(piece, objective_s)[0] for piece in self._pieces)
            for total, objective_s in zip(self._seconds, self._objectives_s, strict=True)
        )

    def areas_above_s2(self) -> tuple[float, ...]:
        """Return for each objective the integral over time of how far the lag was above it, seconds squared."""
        return tuple(
            total + sum(_above(piece, objective_s)[1] for piece in self._pieces)
            for total, objective_s in zip(self._areas_s2, self._objectives_s, strict=True)
        )

    def _cut(self, at_s: float) -> list[_Piece]:
        """Take out what lies after an instant, and return it."""
        pieces = self._pieces
        later: list[_Piece] = []
        while pieces and pieces[-1].until_s > at_s:
            piece = pieces.pop()
            if piece.from_s < at_s:
                pieces.append(piece.part(piece.from_s, at_s))
                piece = piece.part(at_s, piece.until_s)
            later.append(piece)
        return later[::-1]

    def _wait(self, offered_s: float, until_s: float) -> None:
        """Let a row wait from when it was offered until it arrives, after all that is there."""
        pieces = self._pieces
        while pieces and pieces[-1].oldest_until_s > offered_s:
            piece = pieces.pop()
            if piece.oldest_from_s < offered_s:
                rise_s = piece.oldest_until_s - piece.oldest_from_s
                share = (offered_s - piece.oldest_from_s) / rise_s
                pieces.append(piece.part(piece.from_s, piece.from_s + share * (piece.until_s - piece.from_s)))
                break
        since_s = max(offered_s, pieces[-1].until_s if pieces else self._summed_until_s)
        self._append(_Piece(since_s, until_s, offered_s, offered_s))

    def _append(self, piece: _Piece) -> None:
        lag_s = max(piece.from_s - piece.oldest_from_s, piece.until_s - piece.oldest_until_s)
        if piece.until_s <= piece.from_s or lag_s <= self._objectives_s[0]:
            return
        self._pieces.append(piece)
        if len(self._pieces) > _PIECES_KEPT:
            oldest = self._pieces.popleft()
            self._summed_until_s = oldest.until_s
            for index, objective_s in enumerate(self._objectives_s):
                seconds, area_s2 = _above(oldest, objective_s)
                self._seconds[index] += seconds
                self._areas_s2[index] += area_s2


def _lower(one: _Piece, other: _Piece) -> tuple[_Piece, ...]:
    """Return the older of two at each instant; both are of the same time."""
    begin_s = one.oldest_from_s - other.oldest_from_s
    end_s = one.oldest_until_s - other.oldest_until_s
    if begin_s <= 0 and end_s <= 0:
        return (one,)
    if begin_s >= 0 and end_s >= 0:
        return (other,)
    crossed_s = one.from_s + (one.until_s - one.from_s) * begin_s / (begin_s - end_s)
    first, second = (one, other) if begin_s < 0 else (other, one)
    return first.part(one.from_s, crossed_s), second.part(crossed_s, one.until_s)


def _above(piece: _Piece, objective_s: float) -> tuple[float, float]:
    """Return the time of a piece above an objective, and the area."""
    begin_s = piece.from_s - piece.oldest_from_s - objective_s
    end_s = piece.until_s - piece.oldest_until_s - objective_s
    seconds = piece.until_s - piece.from_s
    if begin_s <= 0 and end_s <= 0:
        return 0.0, 0.0
    if begin_s >= 0 and end_s >= 0:
        return seconds, seconds * (begin_s + end_s) / 2
    most_s = max(begin_s, end_s)
    seconds *= most_s / abs(end_s - begin_s)
    return seconds, seconds * most_s / 2
