"""Load and capacity: evidence in a window, the fitted law and its predictions, backlog and headroom."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gesscale.model.observation import OperatorReading
from gesscale.model.workflow import Operator
from perfmodel import (
    Conditions,
    Estimate,
    Estimates,
    Estimator,
    LawSummary,
    Model,
    ModelError,
    ModelSummary,
    ParameterEstimate,
    Points,
    Reading,
)


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
    reading: OperatorReading, nd_max_ms: float | None, weight: float, back_pressure_threshold: float
) -> tuple[Reading, ...]:
    """Return the evidence of a window for the performance model.

    Parameters
    ----------
    nd_max_ms
        NDmax of its placement, round trip; None if it is not in the latency map.
    """
    saturated = reading.saturated_share > back_pressure_threshold
    batches = [b for b in reading.warm_batches if not saturated or b.is_full or b.is_late]
    seconds = sum(batch.seconds for batch in batches)
    rows = sum(batch.rows for batch in batches)
    if nd_max_ms is None or seconds <= 0 or rows <= 0 or not reading.placement:
        return ()
    return (
        Reading(
            replicas=reading.replicas,
            nd_max_ms=nd_max_ms,
            rows_per_s=rows / seconds,
            saturated=saturated,
            batch_rows=rows / len(batches),
            tasks=reading.replicas,
            weight=weight,
            at_s=reading.at_s,
        ),
    )


def fit(readings: tuple[Reading, ...], law: Estimator, now_s: float) -> Model | None:
    """Fit a law to the evidence; None if the evidence is insufficient."""
    try:
        return law.fit(readings, now_s)
    except ModelError:
        return None


def summary_of(model: Model | None) -> ModelSummary | None:
    """Return the summary of a fitted law; None without one."""
    if model is None:
        return None
    units = {"alpha": "rows/s", "gamma": "rows/s per ms", "t0_s": "s", "s_ms_per_row": "ms"}
    parameters = tuple(
        ParameterEstimate(
            name=name, unit=units.get(name, "1"), value=value, low=None, high=None, identified=name in model.fitted
        )
        for name, value in model.parameters.items()
    )
    law = LawSummary(law=model.law, parameters=parameters, readings=model.readings_used)
    return ModelSummary(law=model.law, laws=(law,), fitted=model.calibrated, warnings=tuple(map(str, model.warnings)))


def predict(
    model: Model | None, placement: tuple[str, ...], nd_max_ms: float | None, operator: Operator, weight: float
) -> Estimate | None:
    """Predict the MST of a placement, rows/s; None without a model, a delay or replicas."""
    if model is None or nd_max_ms is None or not placement:
        return None
    return model.predict(
        Conditions(
            replicas=len(placement), nd_max_ms=nd_max_ms, weight=weight, batch_rows=operator.batch_rows(len(placement))
        )
    )


def predict_all(
    model: Model | None, replicas: int, nd_max_ms: NDArray[np.float64], operator: Operator, weights: NDArray[np.float64]
) -> Estimates | None:
    """Predict the MST of many placements with the same number of replicas; see `predict`.

    Parameters
    ----------
    model
        The fitted law; None if there is none.
    nd_max_ms, weights
        Of the placements, shape ``(m,)``.
    """
    if model is None:
        return None
    batch_rows = operator.batch_rows(replicas)
    rows = np.full(len(nd_max_ms), np.nan if batch_rows is None else batch_rows)
    return model.predict_all(Points(capacity=weights, nd_max_ms=nd_max_ms, batch_rows=rows))
