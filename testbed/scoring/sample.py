"""What is known of a run at an instant, and what a run is judged by."""

from dataclasses import dataclass
from typing import NamedTuple


class Sample(NamedTuple):
    """An operator from one instant until the next sample."""

    #: Seconds since the measurement began.
    t_s: float
    #: Least replicas whose true MST, at their best placement, covers the input; what the ideal scaler has.
    demand_replicas: int
    #: Replicas that the scaler keeps: ordered and not given up, starting ones included. They are paid for.
    supply_replicas: int
    #: Those of them that can work; 0 while a restart goes on.
    serving_replicas: int
    #: Rates until the next sample, rows/s (input_rows_per_s, processed_rows_per_s).
    input_rows_per_s: float
    processed_rows_per_s: float
    #: Changes that were ordered at this instant.
    reconfigurations: int = 0


class Completion(NamedTuple):
    """Rows that reached the sink together."""

    #: How many.
    rows: float
    #: When the first and the last of them were offered at the source of the workflow (event time), seconds
    #: (offered_from_s, offered_until_s).
    offered_from_s: float
    offered_until_s: float
    #: When they reached the sink; the last of them, where they came one by one.
    at_s: float
    #: When the first of them did, where they came evenly over a time and in order; None where all came at
    #: once.
    arrived_from_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What a run is judged by; names and definitions of specification section 7, those from ``drained`` on are ours."""

    #: Mean replicas too many and too few against the demand, over the measurement (accuracy_O, accuracy_U).
    accuracy_O: float  # noqa: N815 - the paper's name
    accuracy_U: float  # noqa: N815 - the paper's name
    #: Share of the measurement that was over- and under-provisioned, per cent (timeshare_O, timeshare_U).
    timeshare_O: float  # noqa: N815 - the paper's name
    timeshare_U: float  # noqa: N815 - the paper's name
    #: Time from the end of the input until all rows were processed, as a share of the measurement.
    excess_time: float
    #: How many changes were ordered.
    reconfigurations: int
    #: Replica-minutes.
    cost: float
    #: Whether all rows were processed in the end; if not, ``excess_time`` is a lower bound.
    drained: bool
    #: From event time to sink, weighted by rows; None where no row came through (latency_mean_s, latency_p50_s,
    #: latency_p95_s, latency_p99_s).
    latency_mean_s: float | None
    latency_p50_s: float | None
    latency_p95_s: float | None
    latency_p99_s: float | None
    #: Seconds in which the oldest row not yet through had been under way for longer than half the objective, the
    #: objective, twice the objective (lag_above_half_slo_s, lag_above_slo_s, lag_above_twice_slo_s).
    lag_above_half_slo_s: float
    lag_above_slo_s: float
    lag_above_twice_slo_s: float
    #: Integral over time of how much longer than that it had been under way, divided by that time: a second in which
    #: it is under way for three times as long counts two (lag_area_half_slo_s, lag_area_slo_s, lag_area_twice_slo_s).
    lag_area_half_slo_s: float
    lag_area_slo_s: float
    lag_area_twice_slo_s: float
    #: Mean time from a change of the demand until the supply equals it; one that never does before the next
    #: change counts with all the time it had. The beginning counts as a change.
    time_to_converge_s: float
    #: Seconds that nodes were held.
    node_seconds: float


#: The scores of the time above half the objective, the objective and twice the objective.
LAG_ABOVE = ("lag_above_half_slo_s", "lag_above_slo_s", "lag_above_twice_slo_s")
#: Those of the area above them.
LAG_AREA = ("lag_area_half_slo_s", "lag_area_slo_s", "lag_area_twice_slo_s")
