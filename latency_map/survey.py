"""A survey: round trips as they were measured, faults included.

A `LatencyMap` is what decisions are made by, and is sound: symmetric, zero from a node to itself. A survey is what
comes before it. A file or a measurement may see a pair differently from its two ends, miss one, or report a node
apart from itself. Checks judge a survey, repairs make a better one of it, and `Survey.to_map` gives the map, or says
what stands in its way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from latency_map.delays import MAX_RTT_MS, Delays, find_impossible, read_only
from latency_map.errors import LatencyMapError
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit
from latency_map.matrix import LatencyMap
from latency_map.names import check_names

Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Survey:
    """Round trips between nodes as they were measured.

    Raises
    ------
    LatencyMapError
        Names or delays are not of that form.
    """

    #: The n nodes, each once, at least one.
    names: tuple[str, ...]
    #: Shape ``(n, n)``, row to column: round trips in milliseconds as seen from the row's node, at least 0,
    #: NaN where missing. The two directions may differ, the diagonal may be other than 0. Read-only: an array
    #: that is so already is taken as it is, another one is copied.
    rtt_ms: Delays
    #: Shape ``(n, n)``: which of them nobody measured, but a repair filled in; none by default. Read-only.
    estimated: Mask = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    #: When, in seconds since the epoch; None where it is not known.
    measured_at_s: float | None = None
    #: Where it comes from, for people.
    origin: str = ""
    #: What was done to it since, in the order in which it was done, for people.
    changes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = tuple(self.names)
        check_names(names)
        shape = (len(names), len(names))
        rtt_ms = read_only(self.rtt_ms, np.float64)
        estimated = read_only(self.estimated if self.estimated.size else np.zeros(shape, dtype=bool), np.bool_)
        if rtt_ms.shape != shape or estimated.shape != shape:
            raise LatencyMapError(
                f"survey: expected matrices of {shape} for {len(names)} nodes, got {rtt_ms.shape} round trips"
                f" and {estimated.shape} marks of estimates"
            )
        fault = find_impossible(rtt_ms, unit=DelayUnit.MS, kind=DelayKind.RTT)
        if fault:
            raise LatencyMapError(
                f"survey: expected round trips of 0 to {MAX_RTT_MS:g} ms, got"
                f" {rtt_ms[fault.row, fault.column]:g} from {names[fault.row]} to {names[fault.column]}"
            )
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "rtt_ms", rtt_ms)
        object.__setattr__(self, "estimated", estimated)

    def asymmetry_rule(self, asymmetry: Asymmetry | None) -> Asymmetry:
        """Return what to do where the two directions of a pair differ.

        None: take the larger one of delays that say when they were measured, since two measurements never agree and
        NDmax must not be taken for less than it is; else refuse, since in a table that somebody wrote it may be a slip.
        """
        return asymmetry or (Asymmetry.REFUSE if self.measured_at_s is None else Asymmetry.MAX)

    def to_map(self, asymmetry: Asymmetry | None = None) -> LatencyMap:
        """Return the latency map that this survey amounts to.

        Parameters
        ----------
        asymmetry
            As in `asymmetry_rule`. A direction that is missing is taken from the other one.

        Returns
        -------
        LatencyMap
            Symmetric, zero diagonal.

        Raises
        ------
        LatencyMapError
            A node is apart from itself, or two directions differ and that is refused.
        """
        return LatencyMap.from_delays(
            self.names, self.rtt_ms, unit=DelayUnit.MS, kind=DelayKind.RTT, asymmetry=self.asymmetry_rule(asymmetry)
        )

    def __len__(self) -> int:
        return len(self.names)


def survey_of_row(source: str, rtts_ms: Mapping[str, float | None], *, measured_at_s: float, origin: str) -> Survey:
    """Make a survey of what one node measured.

    Parameters
    ----------
    source
        The node that measured; it comes first.
    rtts_ms
        The round trip to each other node; None where there was no reply.
    measured_at_s
        When, in seconds since the epoch.
    origin
        Where it comes from, for people.

    Raises
    ------
    LatencyMapError
        A name or a delay is none that a map may have.
    """
    names = (source, *rtts_ms)
    rtt_ms = np.full((len(names), len(names)), np.nan)
    np.fill_diagonal(rtt_ms, 0.0)
    rtt_ms[0, 1:] = [np.nan if each is None else each for each in rtts_ms.values()]
    return Survey(names=names, rtt_ms=rtt_ms, measured_at_s=measured_at_s, origin=origin)
