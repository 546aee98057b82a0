"""The arena's experiment of a live scenario: the simulated world equals the live one."""

from collections.abc import Iterable, Mapping, Sequence

from testbed.arena.experiments.experiment import Experiment, experiment_of
from testbed.live.scenario import Scenario

#: The peak of a load as a share of the capacity of all replicas.
PEAK_SHARE = 0.8
_SAMPLES_PER_PERIOD = 6


def experiment_of_scenario(
    scenario: Scenario,
    *,
    physics: str,
    policies: Sequence[str],
    settings_of: Iterable[str],
    loads: Sequence[str],
    seeds: int,
    more: Mapping[str, object],
) -> Experiment:
    """Return the experiment of a scenario with one operator.

    Parameters
    ----------
    physics
        The simulator's constants for the query on the local cluster.
    settings_of
        The policies whose settings the experiment has.
    more
        Its name and title, and settings that differ from the scenario's.
    """
    (operator,) = scenario.operators
    document = {
        "policies": list(policies),
        "workloads": list(loads),
        "seeds": seeds,
        "length": _seconds(scenario.day_s),
        "nodes": {"topology": scenario.topology},
        "operators": {
            operator.name: {
                "physics": physics,
                "trigger": _seconds(scenario.trigger_s),
                "cap_rows_per_replica": scenario.cap_rows,
                "max_replicas": scenario.max_replicas,
            }
        },
        "rules": {"node_choice": scenario.node_choice, **scenario.rules(*settings_of)},
        "metrics": {
            "window": _seconds(scenario.period_s),
            "history": _seconds(scenario.history_s),
            "stale_after": _seconds(scenario.stale_after_s),
        },
        "peak_share": PEAK_SHARE,
        "period": _seconds(scenario.period_s),
        "min_period": _seconds(scenario.min_period_s),
        "sample": _seconds(scenario.period_s / _SAMPLES_PER_PERIOD),
        "rescale_timeout": _seconds(scenario.rescale_timeout_s),
        "drain_limit": _seconds(scenario.drain_s),
        "slo": _seconds(scenario.slo_s),
        "undone_within": _seconds(10 * scenario.period_s),
        **more,
    }
    return experiment_of(document, "a live scenario")


def _seconds(value: float) -> str:
    return f"{value:.9g}s"
