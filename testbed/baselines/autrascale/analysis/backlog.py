"""How fast a backlog must be processed so that the event latency is met in time (IV-E, Eq. 9 to 12)."""


def target_throughput(
    rate: float,
    backlog_rows: float,
    *,
    latency_s: float,
    event_target_s: float,
    limit_s: float,
    downtime_s: float = 0.0,
) -> float | None:
    """Return V_t, the throughput that brings the event latency to its target in time.

    Parameters
    ----------
    rate
        Input rate lambda, rows/s.
    backlog_rows
        R_lag(c): what waits now.
    latency_s
        Processing latency l_p in the steady state.
    event_target_s
        L_e.
    limit_s
        T_limit: the time it may take.
    downtime_s
        Time without output while replicas change. The paper leaves it out. Here, rows that come meanwhile are added to
        the rows to process, and only the rest of the limit is left. A backlog no greater than one change leaves behind
        is ignored.

    Returns
    -------
    float or None
        Rows/s; None where no rows are to be processed, or the downtime alone exceeds the limit.

    Examples
    --------
    5,988,000 rows in 360 s, in addition to 40,000 rows/s:

    >>> round(target_throughput(40000, 6e6, latency_s=0.2, event_target_s=0.5, limit_s=360), 1)
    56633.3
    """
    to_eat = backlog_rows - rate * max(event_target_s - latency_s, 0.0)
    if to_eat <= rate * downtime_s or limit_s <= downtime_s:
        return None
    return rate + (to_eat + rate * downtime_s) / (limit_s - downtime_s)
