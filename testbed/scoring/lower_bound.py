"""Lower bound on the cost of any policy on a load: replicas, late minutes at their price, and changes.

Rows offered before ``t - objective`` must be through at an instant ``t`` that is not late. Take a window of length
``h + objective`` that begins at ``s``, and let its replicas process ``C`` rows at most. Let ``a`` be the rows offered
in its first ``h``, and ``peak`` the highest rate of the load. Let ``t`` be the last instant that is not late. At most
all rows offered until ``s`` and ``C`` more are through by then, so ``a - C`` others were offered between
``t - objective`` and ``s + h``, at no more than the peak: at least ``(a - C) / peak`` seconds are late.
If all of it is late, that holds too, as ``a`` is at most ``h * peak``.

Windows follow each other, and only the number of replicas joins them: in a window without a change it is constant, in
one with changes it is free, and what is charged then is one change and the cheapest mixture of two numbers. The plan of
least cost over all windows is found by dynamic programming. Whatever is left out adds cost: changes that take
time, more than one change in a window, backlogs from one window to the next, and everything after the last window.

Capacities are the true ones of the best placements, without noise. So the bound holds for every policy up to noise that
makes batches faster than their mean. It does not hold for `ideal`, whose changes are free.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Lengths h of the windows that are tried, in objectives: short ones follow the load, long ones lose less to the wait
#: that is allowed. The largest bound counts.
WINDOW_OBJECTIVES = (2.0, 4.0, 9.0, 19.0, 59.0)


def lower_bound(
    offered_rows: Callable[[float], float],
    capacity_rows_per_s: Sequence[float],
    *,
    fewest: int,
    initial: int,
    duration_s: float,
    objective_s: float,
    peak_rows_per_s: float,
    replica_price: float,
    late_minute_price: float,
    change_price: float,
) -> float:
    """Return a lower bound of the cost of a run, replica-minutes.

    Parameters
    ----------
    offered_rows
        Rows offered until an instant.
    capacity_rows_per_s
        Most rows/s of `fewest` replicas, one more, and so on; with fewer nodes of a larger number if that is more.
    """
    numbers = fewest + np.arange(len(capacity_rows_per_s))
    prices: Floats = replica_price * numbers.astype(np.float64)
    capacity = np.maximum.accumulate(np.array(capacity_rows_per_s))
    found = duration_s / 60 * float(prices[0])
    for objectives in WINDOW_OBJECTIVES:
        counted_s = objectives * objective_s
        window_s = counted_s + objective_s
        values = np.where(numbers == initial, 0.0, np.inf)
        begin_s = 0.0
        while begin_s + window_s <= duration_s:
            rows = offered_rows(begin_s + counted_s) - offered_rows(begin_s)
            kept = _window_costs(prices, capacity, rows, window_s, peak_rows_per_s, late_minute_price)
            changed = values.min() + change_price + _mixture_cost(kept, prices, capacity, rows, window_s)
            values = np.minimum(values + kept, changed)
            begin_s += window_s
        found = max(found, float(values.min()) + (duration_s - begin_s) / 60 * float(prices[0]))
    return found


def _window_costs(
    prices: Floats, capacity: Floats, rows: float, window_s: float, peak_rows_per_s: float, late_minute_price: float
) -> Floats:
    """Return the cost of a window with each number of replicas."""
    missing = np.maximum(0.0, rows - capacity * window_s)
    late_s = missing / peak_rows_per_s if peak_rows_per_s > 0 else np.zeros(len(capacity))
    costs: Floats = (prices * window_s + late_minute_price * late_s) / 60
    return costs


def _mixture_cost(kept: Floats, prices: Floats, capacity: Floats, rows: float, window_s: float) -> float:
    """Return the cost of a window with the cheapest mixture: one number, or two that just carry the rows together."""
    needed = rows / window_s
    least = float(kept.min())
    for few in np.flatnonzero(capacity < needed):
        for many in np.flatnonzero(capacity > needed):
            share = (needed - capacity[few]) / (capacity[many] - capacity[few])
            least = min(least, float((1 - share) * prices[few] + share * prices[many]) * window_s / 60)
    return least
