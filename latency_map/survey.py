"""Round trips as they were measured, before validation.

Decisions use a `LatencyMap`, which is symmetric and has a zero diagonal. A survey need not be: the two directions of a
pair may differ, pairs may be missing, and the delay of a node to itself may be other than zero. Checks evaluate a
survey, repairs improve it, and `Survey.to_map` converts it or raises.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from latency_map.arrays import as_delays, read_only
from latency_map.delays import Delays, find_out_of_range
from latency_map.errors import LatencyMapError, error_of
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit, member_or_none
from latency_map.matrix import LatencyMap
from latency_map.names import check_names

Mask: TypeAlias = NDArray[np.bool_]

#: Latest time of a measurement, in the year 5138: milliseconds since the epoch are later.
MAX_TIME_S = 1e11


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Survey:
    """Round trips between nodes as they were measured.

    Raises
    ------
    LatencyMapError
        A name or a delay is invalid.
    """

    #: The n nodes, each once, at least one.
    names: tuple[str, ...]
    #: Shape ``(n, n)``, row to column: round trips in milliseconds as measured by the node of the row, at least 0,
    #: NaN where missing. The two directions may differ, the diagonal may be other than 0. A read-only array is used
    #: without a copy.
    rtt_ms: Delays
    #: Shape ``(n, n)``: marks the round trips that a repair estimated; none by default. Read-only.
    estimated: Mask = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    #: Time of the measurement, in seconds since the epoch; None if unknown.
    measured_at_s: float | None = None
    #: Description of its source.
    origin: str = ""
    #: Descriptions of the later changes, the oldest first.
    changes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = check_names(self.names)
        shape = (len(names), len(names))
        rtt_ms = read_only(as_delays(self.rtt_ms, names), np.float64)
        marks = np.asarray(self.estimated)
        if marks.size and (marks.dtype != np.bool_ or isinstance(self.estimated, np.ma.MaskedArray)):
            got = f"{type(self.estimated).__name__} of {marks.dtype}"
            raise LatencyMapError("map-value-invalid", place="estimated", expected="True or False", got=got)
        estimated = read_only(marks if marks.size else np.zeros(shape, dtype=bool), np.bool_)
        if estimated.shape != shape:
            raise LatencyMapError("map-shape-invalid", nodes=len(names), shape=" x ".join(map(str, estimated.shape)))
        if fault := find_out_of_range(rtt_ms):
            raise error_of(fault.problem, place=f"{names[fault.row]} to {names[fault.column]}")
        at_s = self.measured_at_s
        if at_s is not None and not (isinstance(at_s, Real) and 0 <= at_s < MAX_TIME_S):
            raise LatencyMapError("map-time-invalid", got=f"{at_s!r:.80}")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "rtt_ms", rtt_ms)
        object.__setattr__(self, "estimated", estimated)

    def asymmetry_rule(self, asymmetry: Asymmetry | None) -> Asymmetry:
        """Return the treatment of pairs whose two directions differ; resolve the default of None.

        For delays with a time of measurement the default is the larger direction: two measurements never agree, and
        NDmax must not be underestimated. Otherwise the default is to refuse, since in a written table it may be a typo.
        """
        default = Asymmetry.REFUSE if self.measured_at_s is None else Asymmetry.MAX
        return member_or_none(Asymmetry, asymmetry) or default

    def to_map(self, asymmetry: Asymmetry | None = None) -> LatencyMap:
        """Convert the survey to a latency map.

        Parameters
        ----------
        asymmetry
            As in `asymmetry_rule`. A missing direction is taken from the other one.

        Returns
        -------
        LatencyMap
            Symmetric, zero diagonal.

        Raises
        ------
        LatencyMapError
            The delay of a node to itself is not 0, or two directions differ and that is refused.
        """
        return LatencyMap.from_delays(
            self.names, self.rtt_ms, unit=DelayUnit.MS, kind=DelayKind.RTT, asymmetry=self.asymmetry_rule(asymmetry)
        )

    def __len__(self) -> int:
        return len(self.names)


def survey_of_row(source: str, rtts_ms: Mapping[str, float | None], *, measured_at_s: float, origin: str) -> Survey:
    """Return a survey of the measurements of one node.

    Parameters
    ----------
    source
        The node that measured; the first of the survey.
    rtts_ms
        The round trip to each other node; None if there was no reply.
    measured_at_s
        Time of the measurement, in seconds since the epoch.
    origin
        Description of the source.

    Raises
    ------
    LatencyMapError
        A name or a delay is invalid.
    """
    names = (source, *rtts_ms)
    rtt_ms = np.full((len(names), len(names)), np.nan)
    np.fill_diagonal(rtt_ms, 0.0)
    rtt_ms[0, 1:] = [np.nan if each is None else each for each in rtts_ms.values()]
    return Survey(names=names, rtt_ms=rtt_ms, measured_at_s=measured_at_s, origin=origin)
