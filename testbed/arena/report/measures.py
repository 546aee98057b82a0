"""What a run is judged by, as the page calls and explains it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A metric of the page.

    Attributes
    ----------
    name
        As in the results: a field of `testbed.scoring.sample.Scores`, or one of the frontier's.
    label, unit
        Of its column.
    definition
        In a sentence or two. Less is better for every one of them.
    ratio
        Whether its ratio to the baseline means something; it does not for what is relative already.
    """

    name: str
    label: str
    unit: str
    definition: str
    ratio: bool = True


PROVISIONING = (
    Measure(
        name="accuracy_O",
        label="accuracy_O",
        unit="replicas",
        definition="Replicas too many: the area by which the supply exceeds the demand, over the length T of the "
        "measurement.",
    ),
    Measure(
        name="accuracy_U",
        label="accuracy_U",
        unit="replicas",
        definition="Replicas too few: the area by which the demand exceeds the supply, over T.",
    ),
    Measure(
        name="timeshare_O",
        label="timeshare_O",
        unit="% of T",
        definition="Share of T with more supply than demand.",
    ),
    Measure(
        name="timeshare_U",
        label="timeshare_U",
        unit="% of T",
        definition="Share of T with less supply than demand.",
    ),
    Measure(
        name="excess_time",
        label="excess time",
        unit="share of T",
        definition="Time from the end of the input until every row was processed, as a share of T; a lower bound "
        "where rows were left over when the run was ended.",
    ),
    Measure(
        name="reconfigurations",
        label="reconfigurations",
        unit="",
        definition="Changes of the placement that the scaler ordered.",
    ),
    Measure(
        name="cost",
        label="cost",
        unit="replica-min",
        definition="Replicas kept, starting and restarting ones included, summed over the minutes.",
    ),
)
"""The paper's seven."""

DELAY = (
    Measure(
        name="lag_above_slo_s",
        label="lag",
        unit="s",
        definition="Seconds in which the oldest row not yet through had been under way for longer than the objective.",
    ),
    Measure(
        name="latency_mean_s",
        label="latency, mean",
        unit="s",
        definition="From the row's event time to the sink, each row with the same weight.",
    ),
    Measure(
        name="latency_p50_s", label="p50", unit="s", definition="Half of the rows were faster than this."
    ),
    Measure(
        name="latency_p95_s", label="p95", unit="s", definition="95 % of the rows were faster than this."
    ),
    Measure(
        name="latency_p99_s", label="p99", unit="s", definition="99 % of the rows were faster than this."
    ),
    Measure(
        name="time_to_converge_s",
        label="time to converge",
        unit="s",
        definition="Mean time from a change of the demand until the supply equals it; if it never does before the next "
        "change, all the time until then. The beginning counts as a change.",
    ),
)
"""What the users of the stream feel."""

HEADCOUNT = (
    Measure(
        name="avg_replicas",
        label="mean replicas",
        unit="replicas",
        definition="Replicas of all operators together, mean over the measurement.",
    ),
    Measure(
        name="max_replicas",
        label="most replicas",
        unit="replicas",
        definition="Replicas of all operators together, the most at any time of the measurement.",
    ),
    Measure(
        name="final_replicas",
        label="replicas at the end",
        unit="replicas",
        definition="Replicas of all operators together when the measurement ends.",
    ),
    Measure(
        name="scaling_actions",
        label="actions",
        unit="",
        definition="Instants at which the scaler ordered changes, of however many operators.",
    ),
    Measure(
        name="last_action_s",
        label="last action",
        unit="s",
        definition="When the last of them was, since the beginning; 0 where there was none.",
    ),
)
"""Of the workflow as one."""

DISTANCE = (
    Measure(
        name="node_seconds",
        label="node-seconds",
        unit="s",
        definition="Seconds for which nodes were held, summed.",
    ),
    Measure(
        name="frontier_cost",
        label="frontier's cost",
        unit="replica-min",
        definition="The least cost of any plan that knows the future, never provides too little, and makes no more "
        "reconfigurations than the policy made in that run.",
        ratio=False,
    ),
    Measure(
        name="above_frontier_pct",
        label="above the frontier",
        unit="%",
        definition="The policy's cost above the frontier's at its own number of reconfigurations. Below 0 where a "
        "policy saved by providing too little: read it with the lag.",
        ratio=False,
    ),
)
"""How far it is to what is possible."""

MEASURES = (*PROVISIONING, *DELAY, *HEADCOUNT, *DISTANCE)
"""All of them, in the order of the page."""
