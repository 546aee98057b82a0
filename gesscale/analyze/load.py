"""Load against capacity: draining, backlog, headroom (specification sections 3 and 4)."""

from gesscale.model.observation import OperatorReading


def drain_time_s(reading: OperatorReading) -> float | None:
    """Return how long a saturated operator needs for its backlog; None where it grows or is unknown.

    Parameters
    ----------
    reading
        A saturated operator: its warm throughput is its MST.

    Returns
    -------
    float or None
        Backlog over MST minus IR, seconds.
    """
    mst = reading.warm_rows_per_s
    if mst is None or reading.input_rows_per_s is None or reading.backlog_rows is None:
        return None
    spare = mst - reading.input_rows_per_s
    return reading.backlog_rows / spare if spare > 0 else None


def has_backlog(reading: OperatorReading) -> bool:
    """Say whether rows wait that the present trigger interval alone does not explain.

    Between two batches a healthy operator's backlog is what one interval brings; twice that is a backlog.
    """
    if reading.backlog_rows is None or reading.input_rows_per_s is None or reading.trigger_s is None:
        return bool(reading.backlog_rows)
    return reading.backlog_rows > 2 * reading.trigger_s * reading.input_rows_per_s


def headroom_pct(mst_rows_per_s: float, throughput_rows_per_s: float) -> float:
    """Return DT of Algorithm 2, per cent; 0 where the MST is 0."""
    if mst_rows_per_s <= 0:
        return 0.0
    return 100.0 * (mst_rows_per_s - throughput_rows_per_s) / mst_rows_per_s
