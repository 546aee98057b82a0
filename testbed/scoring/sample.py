"""Samples and completions of a run, and its scores."""

from dataclasses import dataclass
from typing import NamedTuple


class Sample(NamedTuple):
    """State of an operator from one instant until the next sample."""

    #: Seconds since the start of the measurement.
    t_s: float
    #: Fewest replicas whose true MST, at their best placement, covers the input.
    demand_replicas: int
    #: Replicas ordered and not removed, including starting ones. They cost.
    supply_replicas: int
    #: Replicas that can work; 0 during a restart.
    serving_replicas: int
    #: Rates until the next sample, rows/s (input_rows_per_s, processed_rows_per_s).
    input_rows_per_s: float
    processed_rows_per_s: float
    #: Changes ordered at this instant.
    reconfigurations: int = 0
    #: Sum of the prices of the nodes of the supply; None if all prices are 1.
    supply_price: float | None = None
    #: Rows that the retention of a source drops unread until the next sample, rows/s.
    lost_rows_per_s: float = 0.0
    #: CPU time that the replicas use in a second until the next sample, seconds; None if unknown.
    cpu_s_per_s: float | None = None
    #: Time that the newest row which a source emitted had waited in its queue, seconds; None if it emitted none in its
    #: last tick, if the operator is no source, or if unknown.
    emitted_lag_s: float | None = None


class Completion(NamedTuple):
    """Rows that reached the sink together."""

    #: Number of rows.
    rows: float
    #: When the first and the last of them were offered at the source of the workflow (event time), seconds
    #: (offered_from_s, offered_until_s).
    offered_from_s: float
    offered_until_s: float
    #: When they reached the sink; the last of them if they came one by one.
    at_s: float
    #: When the first one did, if they came evenly over a time and in order; None if all came at once.
    arrived_from_s: float | None = None
    #: Whether they were lost instead, as the source had kept them for its retention.
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Scores of a run; names and definitions are the paper's, those from ``drained`` on are ours."""

    #: Mean excess and missing replicas relative to the demand, over the measurement (accuracy_O, accuracy_U).
    accuracy_O: float  # noqa: N815 - the paper's name
    accuracy_U: float  # noqa: N815 - the paper's name
    #: Share of the measurement with over- and under-provisioning, per cent (timeshare_O, timeshare_U).
    timeshare_O: float  # noqa: N815 - the paper's name
    timeshare_U: float  # noqa: N815 - the paper's name
    #: Time from the end of the input until all rows were processed, as a share of the measurement.
    excess_time: float
    #: Number of changes ordered.
    reconfigurations: int
    #: Replica-minutes, weighted by the prices of their nodes.
    cost: float
    #: Whether all rows were processed in the end, or lost; if not, ``excess_time`` is a lower bound.
    drained: bool
    #: Number of changes that later ones undid; see `gesscale.model.undone_changes`.
    undone_changes: int
    #: Latency from event time to sink, weighted by rows; None if no row was processed (latency_mean_s, latency_p50_s,
    #: latency_p95_s, latency_p99_s, latency_max_s).
    latency_mean_s: float | None
    latency_p50_s: float | None
    latency_p95_s: float | None
    latency_p99_s: float | None
    latency_max_s: float | None
    #: Mean over time of the 95th percentile of the rows that reached the sink within 10 s; None without rows.
    latency_p95_over_time_s: float | None
    #: Time in which the oldest unprocessed row was older than half the objective, the objective, and twice the
    #: objective, seconds (lag_above_half_slo_s, lag_above_slo_s, lag_above_twice_slo_s).
    lag_above_half_slo_s: float
    lag_above_slo_s: float
    lag_above_twice_slo_s: float
    #: Integral over time of its age above that limit, divided by the limit: a second in which it is three times as old
    #: as the limit counts two (lag_area_half_slo_s, lag_area_slo_s, lag_area_twice_slo_s).
    lag_area_half_slo_s: float
    lag_area_slo_s: float
    lag_area_twice_slo_s: float
    #: Mean time from a change of the demand until the supply equals it, or until the next change if it never does. The
    #: start counts as a change.
    time_to_converge_s: float
    #: Time in use, summed over nodes, seconds.
    node_seconds: float


#: Scores of the time above half the objective, the objective and twice the objective.
LAG_ABOVE = ("lag_above_half_slo_s", "lag_above_slo_s", "lag_above_twice_slo_s")
#: Scores of the area above these limits.
LAG_AREA = ("lag_area_half_slo_s", "lag_area_slo_s", "lag_area_twice_slo_s")
