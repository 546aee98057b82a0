"""Load and capacity: evidence in a window, the fitted law and its predictions, backlog and headroom."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gesscale.model.observation import OperatorReading
from perfmodel import Estimate, Estimates, FittedEq1, ModelError, Points, Reading

#: Back pressure above which an operator is at its limit (Algorithm 1).
BACK_PRESSURE_THRESHOLD = 0.5


def drain_time_s(reading: OperatorReading) -> float | None:
    """Return how long a saturated operator needs for its backlog; None if it grows or is unknown."""
    mst = reading.warm_rows_per_s
    if mst is None or reading.input_rows_per_s is None or reading.backlog_rows is None:
        return None
    spare = mst - reading.input_rows_per_s
    return reading.backlog_rows / spare if spare > 0 else None


def has_backlog(reading: OperatorReading) -> bool:
    """Return whether there is a backlog beyond the rows of the present trigger interval.

    Between two batches, the rows of one interval wait in a healthy operator; more than twice that is a backlog.
    """
    if reading.backlog_rows is None or reading.input_rows_per_s is None or reading.trigger_s is None:
        return bool(reading.backlog_rows)
    return reading.backlog_rows > 2 * reading.trigger_s * reading.input_rows_per_s


def headroom_pct(mst_rows_per_s: float, throughput_rows_per_s: float) -> float:
    """Return DT of Algorithm 2, per cent; 0 if the MST is 0."""
    if mst_rows_per_s <= 0:
        return 0.0
    return 100.0 * (mst_rows_per_s - throughput_rows_per_s) / mst_rows_per_s


def weight_of(placement: tuple[str, ...], node_weights: Mapping[str, float]) -> float:
    """Return the sum of the capacity weights of nodes; an unlisted node weighs 1."""
    return sum(node_weights.get(node, 1.0) for node in placement)


def evidence_of(
    reading: OperatorReading,
    nd_max_ms: float | None,
    weight: float,
    back_pressure_threshold: float = BACK_PRESSURE_THRESHOLD,
) -> tuple[Reading, ...]:
    """Return the saturation reading of a window; none if the operator was not at its limit, or a figure is invalid.

    Parameters
    ----------
    nd_max_ms
        NDmax of its placement, round trip; None if it is not in the latency map.
    """
    if reading.saturated_share <= back_pressure_threshold or nd_max_ms is None:
        return ()
    batches = [batch for batch in reading.warm_batches if batch.is_full or batch.is_late]
    seconds = sum(batch.seconds for batch in batches)
    rows = sum(batch.rows for batch in batches)
    if seconds <= 0 or rows <= 0 or not reading.placement:
        return ()
    try:
        found = Reading(
            replicas=reading.replicas,
            nd_max_ms=nd_max_ms,
            rows_per_s=rows / seconds,
            batch_rows=rows / len(batches),
            weight=weight,
            at_s=reading.at_s,
        )
    except ModelError:
        return ()
    return (found,)


def predict(
    model: FittedEq1 | None, placement: tuple[str, ...], nd_max_ms: float | None, weight: float
) -> Estimate | None:
    """Predict the MST of a placement, rows/s; None without a model, a delay or replicas."""
    if model is None or nd_max_ms is None or not placement:
        return None
    return model.predict(Points.of(weight, nd_max_ms)).at(0)


def predict_all(
    model: FittedEq1 | None, nd_max_ms: NDArray[np.float64], weights: NDArray[np.float64]
) -> Estimates | None:
    """Predict the MST of many placements; see `predict`.

    Parameters
    ----------
    nd_max_ms, weights
        Of the placements, shape ``(m,)``.
    """
    if model is None:
        return None
    unlimited = np.full(len(weights), np.nan)
    return model.predict(
        Points(weight=weights, even_weight=weights, driver_ms=nd_max_ms, pair_ms=nd_max_ms, cap_rows=unlimited)
    )
