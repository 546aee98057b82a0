"""What a live league plays: a query on the demo's nodes, and the arena's experiment that describes them."""

from dataclasses import dataclass, replace
from pathlib import Path

from gesscale.errors import InputError
from gesscale.policies import policy_names
from testbed.arena.experiments.experiment import Experiment, experiment_of
from testbed.arena.policies.oracle_names import KNOW_THE_LOAD
from testbed.demo.scenario import DEMO, Scenario
from testbed.league.queries import RIDES, league_query

PEAK_SHARE = 0.8
"""The peak needs so much of what all replicas can do; that of `make demo` needs 79 %."""

_HEAD_START_S = 45.0
"""A driver that comes later than the first row makes its run useless, so it has more time than in the demo."""

_STEPS_A_DAY = 24
_USUAL_PERIOD_S = 60.0
_SAMPLES_A_PERIOD = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class LeagueSetting:
    """What is played, by the options of ``testbed league``.

    Attributes
    ----------
    policies, loads
        By their names in the arena.
    repetitions
        Of each policy on each load; they are the seeds of the arena's cases.
    length_s
        How long each load is played, seconds.
    objective_s
        How old a row may be; None: two periods.
    late_minute_price
        What a late minute is worth, replica-minutes.
    topology
        The nodes: a file, or a bundled one's name.
    query
        What runs on them, one of `testbed.league.queries.LEAGUE_QUERIES`.
    """

    policies: tuple[str, ...]
    loads: tuple[str, ...]
    repetitions: int = 3
    length_s: float = 240.0
    objective_s: float | None = None
    late_minute_price: float = 10.0
    topology: str = DEMO.topology
    query: str = RIDES

    @property
    def scenario(self) -> Scenario:
        """The query's, on the time scale of the league: a load is a day, and a period is an hour of it.

        What the policies' defaults say of minutes holds for periods here, and so does the price of a change: a
        replica-minute where a period is a minute.
        """
        period_s = self.length_s / _STEPS_A_DAY
        own = league_query(self.query).scenario
        return replace(
            own,
            topology=self.topology,
            day_s=self.length_s,
            head_start_s=_HEAD_START_S,
            drain_s=max(own.drain_s, 9 * period_s),
            period_s=period_s,
            objective_s=self.objective_s,
            late_minute_price=self.late_minute_price,
            change_price=period_s / _USUAL_PERIOD_S,
        )

    @property
    def experiment(self) -> Experiment:
        """The same for the arena.

        Raises
        ------
        InputError
            Where a policy cannot run live, or something is named that there is not.
        """
        for policy in self.policies:
            if policy in KNOW_THE_LOAD:
                message = (
                    f"--policies: expected policies that can run live, got {policy!r}, which knows the load"
                )
                raise InputError(message)
        scenario = self.scenario
        (operator,) = scenario.operators
        document = {
            "name": "live-league",
            "title": f"Live and simulated: {self.length_s:g} s on {Path(scenario.topology).stem}",
            "policies": list(self.policies),
            "workloads": list(self.loads),
            "seeds": self.repetitions,
            "length": _seconds(scenario.day_s),
            "nodes": {"topology": scenario.topology},
            "operators": {
                operator.name: {
                    "physics": league_query(self.query).physics,
                    "trigger": _seconds(scenario.trigger_s),
                    "cap_rows_per_replica": scenario.cap_rows,
                    "max_replicas": scenario.max_replicas,
                }
            },
            # of all policies, so that more of them can be asked for later
            "rules": scenario.rules(*dict.fromkeys((*policy_names(), *self.policies))),
            "metrics": {
                "window": _seconds(scenario.period_s),
                "history": _seconds(scenario.history_s),
                "stale_after": _seconds(scenario.stale_after_s),
            },
            "peak_share": PEAK_SHARE,
            "period": _seconds(scenario.period_s),
            "least_period": _seconds(scenario.least_period_s),
            "sample": _seconds(scenario.period_s / _SAMPLES_A_PERIOD),
            "rescale_timeout": _seconds(scenario.rescale_timeout_s),
            "drain_limit": _seconds(scenario.drain_s),
            "slo": _seconds(scenario.slo_s),
        }
        return experiment_of(document, "testbed league")


def _seconds(value: float) -> str:
    return f"{value:.9g}s"
