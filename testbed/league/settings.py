"""Settings of a live league: its queries, and the arena's experiment that describes it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from gesscale.errors import InputError
from gesscale.policies import policy_names
from gesscale.policies.registry import find_policy_info
from testbed.arena.case import Case
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.names import UNRANKED, ChosenNodes
from testbed.demo.taxi import prepare_rides, run_taxi_day
from testbed.live.job_runner import Setup, run_job
from testbed.live.scenario import RIDES, Scenario
from testbed.live.scoring import LiveRun
from testbed.live.simulation import experiment_of_scenario
from testbed.nexmark.day import NexmarkJob, scenario_of
from testbed.nexmark.queries import nexmark_query
from testbed.pipeline.replay import open_rides
from testbed.pipeline.rides import HALF_HOUR_S, Demand, bundled_demand
from testbed.pipeline.schedule import ReplaySchedule
from testbed.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class LeagueQuery:
    """A query that a league can run.

    Attributes
    ----------
    scenario: its operator, with a load that two cores can carry; the league sets times and the policy
    physics: the simulator's constants for it on the local cluster
    run: runs a day of a load; raises GesscaleError on failure
    """

    scenario: Scenario
    physics: str
    run: Callable[[Setup, Workload], LiveRun]


def _run_rides(setup: Setup, load: Workload) -> LiveRun:
    """Generate rides of the load, replay them, and count them in the sink."""
    demand = demand_of(load, setup.scenario.copies)
    scenario = replace(setup.scenario, demand_duration_s=demand_duration_s(demand))
    rides = prepare_rides(demand, 1.0, scenario.copies, setup.progress.log)
    outcome = run_taxi_day(replace(setup, scenario=scenario), rides)
    (record,) = outcome.records.values()
    return LiveRun(
        record=record,
        schedule=ReplaySchedule(
            pickup_s=open_rides(str(rides.folder)).pickup_s(),
            speed=scenario.speed,
            copies=scenario.copies,
            start_at_s=record.began_at_s,
        ),
        rows_doubled=outcome.sink.duplicated,
        rows_lost=max(0, record.processed_rows - outcome.sink.distinct),
    )


def _run_nexmark(setup: Setup, load: Workload) -> LiveRun:
    """Generate events of the load, and compare the result with a batch over the processed events."""
    (operator,) = setup.scenario.operators
    job = NexmarkJob(
        query=nexmark_query(operator.name),
        scenario=setup.scenario,
        load=load,
        start_at_s=time.time() + setup.scenario.head_start_s,
    )
    (record,) = run_job(setup, job, rows=job.rows_total).values()
    setup.progress.log("comparing the result with a batch query")
    comparison = job.verify(setup.folder, record.processed_rows)
    return LiveRun(record=record, schedule=job, rows_doubled=comparison["unexpected"], rows_lost=comparison["missing"])


#: By name: a map of taxi rides, and a query of Nexmark with state.
LEAGUE_QUERIES: Mapping[str, LeagueQuery] = {
    "rides": LeagueQuery(scenario=RIDES, physics="local-cluster", run=_run_rides),
    "q5": LeagueQuery(scenario=scenario_of(nexmark_query("q5")), physics="nexmark-q5", run=_run_nexmark),
}


def league_query(name: str) -> LeagueQuery:
    """Return a query by its name.

    Raises
    ------
    InputError
        If a league cannot run it.
    """
    if name not in LEAGUE_QUERIES:
        raise InputError("query-unknown", place="--query", got=name, known=tuple(LEAGUE_QUERIES))
    return LEAGUE_QUERIES[name]


def demand_of(load: Workload, copies: int) -> Demand:
    """Convert a load to rides to generate: each step of the load becomes half an hour of rides.

    Parameters
    ----------
    load
        Rows per second; not 0 in the first step, as the replay starts with its first ride.
    """
    edges = np.arange(len(load.rows_per_s) + 1) * load.step_s
    rides = [round(load.offered_rows(edge_s) / copies) for edge_s in edges.tolist()]
    return Demand(bundled_demand().begins, tuple(after - before for before, after in pairwise(rides)))


def demand_duration_s(demand: Demand) -> float:
    """Return the duration of the rides of a demand, seconds."""
    return float(HALF_HOUR_S * len(demand.passengers))


#: The variants of the experiment.
_VARIANTS = {"name": "nodes", "options": [{"name": each, "set": {"rules.node_choice": each}} for each in ChosenNodes]}


def chooses_by_option(policy: str) -> bool:
    """Return whether an option decides how a policy chooses nodes; otherwise it has one way."""
    return "node_choice" in find_policy_info(policy).accepts


#: Longer than in the demo, as a run is useless if its driver starts after the first row.
_HEAD_START_S = 45.0

_STEPS_PER_DAY = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class LeagueSettings:
    """The settings of a league, from the options of ``testbed league``."""

    #: Names of the policies and of the loads, as in the arena.
    policies: tuple[str, ...]
    loads: tuple[str, ...]
    #: Runs of each policy on each load; they are the seeds of the arena's cases.
    repetitions: int = 3
    #: Duration of each load, seconds.
    length_s: float = 240.0
    #: Latency objective of a row, s; None means two periods.
    objective_s: float | None = None
    #: Price of a late minute, replica-minutes.
    late_minute_price: float = 10.0
    #: The nodes: a file, or a bundled one's name.
    topology: str = RIDES.topology
    #: One of `LEAGUE_QUERIES`.
    query: str = "rides"
    #: Variants to run for policies without delays.
    nodes: tuple[ChosenNodes, ...] = tuple(ChosenNodes)

    @property
    def scenario(self) -> Scenario:
        """The query's scenario on the time scale of the league: a load is a day, and a period is an hour of it.

        Periods replace the minutes in the defaults of the policies, also in the price of a change.
        """
        period_s = self.length_s / _STEPS_PER_DAY
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
        )

    @property
    def experiment(self) -> Experiment:
        """The arena's experiment of this league.

        Raises
        ------
        InputError
            If a policy cannot run live, or a name is unknown.
        """
        for policy in self.policies:
            if policy in UNRANKED:
                raise InputError("policy-simulated-only", place="--policies", policy=policy)
        return experiment_of_scenario(
            self.scenario,
            physics=league_query(self.query).physics,
            policies=self.policies,
            settings_of=dict.fromkeys((*policy_names(), *self.policies)),  # so that a later call can add some
            loads=self.loads,
            seeds=self.repetitions,
            more={
                "name": "live-league",
                "title": f"Live and simulated: {self.length_s:g} s on {Path(self.topology).stem}",
                "variants": {"choices": [_VARIANTS]},
            },
        )

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases to run: policies with their own way to choose nodes run in the first variant only."""
        experiment = self.experiment
        first, *_ = experiment.variant_names
        choices = {name: experiment.variant(name).rules.node_choice for name in experiment.variant_names}
        return tuple(
            case
            for case in experiment.cases()
            if (choices[case.variant] in self.nodes if chooses_by_option(case.policy) else case.variant == first)
        )
