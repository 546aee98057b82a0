"""What a live league can run: the taxi map, and query 5 of Nexmark."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np

from gesscale.errors import InputError
from gesscale.settings import Settings
from testbed.cluster.topology import Topology
from testbed.demo.day import scale_day
from testbed.demo.rides import prepare_rides
from testbed.demo.scenario import DEMO, Scenario
from testbed.demo.show import play_day
from testbed.demo.stage import Stage
from testbed.league.scoring import LiveRun
from testbed.nexmark.job import NexmarkJob, scenario_of
from testbed.nexmark.queries import query_named
from testbed.pipeline.ride_store import open_rides
from testbed.pipeline.rides import HALF_HOUR_S, Demand, bundled_demand
from testbed.pipeline.schedule import ReplaySchedule
from testbed.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A day that is to be played.

    Attributes
    ----------
    scenario, settings, topology
        What is played, how it is scaled, and on which nodes; they are up.
    load
        Rows due per second.
    folder
        Where everything of it goes.
    stage
        Prints what happens.
    """

    scenario: Scenario
    settings: Settings
    topology: Topology
    load: Workload
    folder: Path
    stage: Stage


class LeagueQuery(Protocol):
    """A query that a league can run."""

    @property
    def scenario(self) -> Scenario:
        """Its operator, and what two cores can carry of it; the league sets times and the policy."""
        ...

    @property
    def physics(self) -> str:
        """The simulator's constants of it on the local cluster."""
        ...

    def play(self, day: Day) -> LiveRun:
        """Play a day; raises GesscaleError where the cluster cannot."""
        ...


class Rides:
    """The demo's query, a map on taxi rides."""

    scenario = DEMO
    physics = "local-cluster"

    def play(self, day: Day) -> LiveRun:
        """Make rides of the load, replay them, and count them in the sink."""
        demand = demand_of(day.load, day.scenario.copies)
        scenario = replace(day.scenario, rides_s=rides_s(demand))
        rides = prepare_rides(demand, 1.0, scenario.copies, day.stage.say)
        played = play_day(scenario, day.settings, day.topology, rides, day.folder, day.stage)
        (record,) = played.records.values()
        return LiveRun(
            record=record,
            schedule=ReplaySchedule(
                pickup_s=open_rides(str(rides.folder)).pickup_s(),
                speed=scenario.speed,
                copies=scenario.copies,
                start_at_s=record.began_at_s,
            ),
            rows_doubled=played.sink.duplicated,
            rows_lost=max(0, record.processed_rows - played.sink.distinct),
        )


@dataclass(frozen=True, slots=True)
class NexmarkQuery:
    """A query of Nexmark, with its state.

    Attributes
    ----------
    name
        As the benchmark numbers it.
    """

    name: str

    @property
    def scenario(self) -> Scenario:
        """As of ``testbed nexmark``."""
        return scenario_of(query_named(self.name))

    @property
    def physics(self) -> str:
        """Fitted to a recorded run of it."""
        return f"nexmark-{self.name}"

    def play(self, day: Day) -> LiveRun:
        """Make events as the load says, and compare what comes out with a batch over those that were processed."""
        job = NexmarkJob(
            query=query_named(self.name),
            scenario=day.scenario,
            load=day.load,
            start_at_s=time.time() + day.scenario.head_start_s,
        )
        records = scale_day(
            day.scenario, day.settings, day.topology, job, day.folder, day.stage, rows=job.rows_total
        )
        (record,) = records.values()
        day.stage.say("comparing with the batch")
        found = job.verified(day.folder, record.processed_rows)
        return LiveRun(
            record=record, schedule=job, rows_doubled=found["unexpected"], rows_lost=found["missing"]
        )


RIDES = "rides"
LEAGUE_QUERIES: Mapping[str, LeagueQuery] = {RIDES: Rides(), "q5": NexmarkQuery("q5")}
"""By name."""


def league_query(name: str) -> LeagueQuery:
    """Return a query by its name.

    Raises
    ------
    InputError
        Where a league cannot run it.
    """
    if name not in LEAGUE_QUERIES:
        message = f"--query: expected one of {', '.join(LEAGUE_QUERIES)}, got {name!r}"
        raise InputError(message)
    return LEAGUE_QUERIES[name]


def demand_of(load: Workload, copies: int) -> Demand:
    """Return a load as rides to generate: a half hour of them for each step of the load.

    Parameters
    ----------
    load
        Rows per second; it begins with some, as the replay begins with its first ride.
    copies
        Rows of each ride.
    """
    edges = np.arange(len(load.rows_per_s) + 1) * load.step_s
    rides = [round(load.offered_rows(edge_s) / copies) for edge_s in edges.tolist()]
    return Demand(bundled_demand().begins, tuple(after - before for before, after in pairwise(rides)))


def rides_s(demand: Demand) -> float:
    """Return how long the rides of a demand last, seconds."""
    return float(HALF_HOUR_S * len(demand.passengers))
