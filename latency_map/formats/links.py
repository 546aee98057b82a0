"""Links of a network, and the delays between its nodes: the shortest paths over the links."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from gesscale.common.text import shortened
from latency_map.arrays import row_blocks
from latency_map.delays import MAX_RTT_MS, Delays
from latency_map.errors import error_at
from latency_map.formats.labels import is_delay_label, split_unit, stated_by
from latency_map.formats.raw import RawDelays, check_file_names
from latency_map.formats.sheet import is_number
from latency_map.grid import Grid
from latency_map.kinds import DelayUnit
from latency_map.limits import MapLimits

_LAST_RESORT = ("weight", "value")
_LONGEST_KEY = 100
_IN_MS = {DelayUnit.US: 1e-3, DelayUnit.MS: 1.0, DelayUnit.S: 1e3}


class Links:
    """Links that come one by one; of several between two nodes the fastest is kept.

    Parameters
    ----------
    source
        Names the file in messages.
    limits
        How many nodes there may be.
    """

    def __init__(self, source: str, limits: MapLimits) -> None:
        self._source = source
        self._grid = Grid(source, limits, {"delay": np.float64(np.nan)})
        self._listed: dict[str, int] = {}
        self._count = self._own = 0
        self._key = self._first_place = self._first_delay = ""
        self._first_unit: DelayUnit | None = None
        self._unit: DelayUnit | None = None

    def list_node(self, name: str) -> None:
        """Take a node that may have no link; such nodes come first, in the order in which they are listed.

        Raises
        ------
        LatencyMapError
            No latency map can have such a name, or that many.
        """
        self._listed[name] = self._grid.number(name)

    def add(self, a: str, b: str, place: str, attributes: Mapping[str, object]) -> None:
        """Take a link from node a to node b.

        Parameters
        ----------
        a, b
            Its ends. A link from a node to itself is left out.
        place
            Where it stands, for messages.
        attributes
            What the file says of it; one of them is its delay, by the same key for all.

        Raises
        ------
        LatencyMapError
            No latency map can have such a node, or that many; or the delay is missing, no number or out of range.
        """
        row, column = self._grid.number(a), self._grid.number(b)
        self._check_keys(attributes)
        delay, unit = self._delay(place, attributes.get(self._key))
        if not self._count:
            self._first_place, self._first_delay = place, repr(attributes[self._key])
            self._first_unit = self._unit = unit
        delay = self._in_one_unit(delay, unit, place)
        if not 0 <= delay <= MAX_RTT_MS:
            raise error_at(self._source, place, f"expected a delay of 0 to {MAX_RTT_MS:g}, got {delay:g}")
        self._count += 1
        if row == column:
            self._own += 1
        else:
            fastest = self._grid.layers["delay"]
            fastest[row, column] = np.fmin(delay, fastest[row, column])

    def delays(self, *, one_direction: bool) -> RawDelays:
        """Compute the delays between all nodes, once all links came.

        Parameters
        ----------
        one_direction
            Whether a link can be used in its own direction only. Otherwise it stands for both, unless the other
            direction has a link of its own.

        Returns
        -------
        RawDelays
            Shortest paths (Dijkstra); NaN where there is none.

        Raises
        ------
        LatencyMapError
            There is no node or no link.
        """
        names = tuple(dict.fromkeys((*self._listed, *self._grid.numbers)))
        check_file_names(self._source, names)
        if not self._count:
            raise error_at(self._source, "", "expected links between nodes, got none")
        unit, kind = stated_by(self._key)
        stated_at = f"the key {self._key!r} says so"
        if self._unit is not None:
            unit, stated_at = self._unit, f"delays such as {self._first_delay} say so"
        notes = [f"shortest paths by the {self._key!r} of links: {self._count - self._own}"]
        if self._own:
            notes.append(f"links from a node to itself, left out: {self._own}")
        order = [self._grid.numbers[name] for name in names]
        return RawDelays(
            names=names,
            values=_shortest_paths(self._grid, order, one_direction=one_direction),
            place=lambda a, b: f"the path from {names[a]} to {names[b]}",
            unit=unit,
            kind=kind,
            stated_at=stated_at,
            notes=tuple(notes),
        )

    def _check_keys(self, attributes: Mapping[str, object]) -> None:
        """Choose the key of the delay by the first link; refuse a link that has another such key as well."""
        named = [key for key in attributes if len(key) <= _LONGEST_KEY and _says_delay(key)]
        if not self._key:
            candidates = named or [key for key in _LAST_RESORT if key in attributes]
            if not candidates:
                listed = ", ".join(shortened(key) for key in list(attributes)[:5]) or "none"
                problem = f"expected links with a delay or latency, got links with the keys {listed}"
                raise error_at(self._source, "", f"{problem}; name the right one so")
            self._key = candidates[0]
        other = next((key for key in named if key != self._key), None)
        if other is not None:
            problem = (
                f"expected one key for the delay of links, got {shortened(self._key)} and {shortened(other)}"
            )
            raise error_at(self._source, "", f"{problem}; remove one")

    def _delay(self, place: str, value: object) -> tuple[float, DelayUnit | None]:
        try:
            if isinstance(value, str):
                if is_number(value.strip()):
                    return float(value), None
                with_unit = split_unit(value)
                if with_unit:
                    return with_unit
            elif isinstance(value, int | float) and not isinstance(value, bool):
                return float(value), None
        except OverflowError:
            pass  # said below
        got = "none" if value is None else shortened(str(value))
        raise error_at(self._source, place, f"expected a {self._key} such as 12.5 or '50 ms', got {got}")

    def _in_one_unit(self, delay: float, unit: DelayUnit | None, place: str) -> float:
        """Return a delay in the unit of all, which is the millisecond from the second unit on that comes."""
        if (unit is None) != (self._unit is None):
            odd = place if unit is None else self._first_place
            problem = "expected a delay with its unit as other links have, such as '50 ms', got none"
            raise error_at(self._source, odd, problem)
        if unit is None or self._unit is None or unit == self._unit == self._first_unit:
            return delay
        if self._unit is not DelayUnit.MS:
            count = len(self._grid.numbers)
            self._grid.layers["delay"][:count, :count] *= _IN_MS[self._unit]
            self._unit = DelayUnit.MS
        return delay * _IN_MS[unit]


@lru_cache(maxsize=256)
def _says_delay(key: str) -> bool:
    return is_delay_label(key)


def _shortest_paths(grid: Grid, order: Sequence[int], *, one_direction: bool) -> Delays:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    fastest: Delays = grid.finish("delay", order)
    symmetric = not one_direction and _complete(fastest)
    count = len(fastest)
    per_row = np.array([np.count_nonzero(~np.isnan(row)) for row in fastest], dtype=np.int32)
    ends = np.concatenate(([0], np.cumsum(per_row))).astype(np.int32)
    delays, targets = np.empty(ends[-1]), np.empty(ends[-1], dtype=np.int32)
    for row, first, end in zip(fastest, ends[:-1], ends[1:], strict=True):
        (targets[first:end],) = np.nonzero(~np.isnan(row))
        delays[first:end] = row[targets[first:end]]
    del fastest  # as large as what comes of it
    paths: Delays = dijkstra(csr_array((delays, targets, ends), shape=(count, count)))
    for rows in row_blocks(count):
        there, back = paths[rows, rows.start :], paths[rows.start :, rows].T
        if symmetric:  # the same links added up in the other order, which may differ in the last bit
            there[:] = back[:] = np.minimum(there, back)
        there[np.isinf(there)] = np.nan
        back[np.isinf(back)] = np.nan
    return paths


def _complete(fastest: Delays) -> bool:
    """Let links without another one back stand for both directions; tell whether all pairs then are alike."""
    alike = True
    for rows in row_blocks(len(fastest)):
        there, back = fastest[rows, rows.start :], fastest[rows.start :, rows].T
        both = np.where(np.isnan(there), back, there)
        back[:] = np.where(np.isnan(back), there, back)
        there[:] = both
        alike = alike and np.array_equal(there, back, equal_nan=True)
    return alike
