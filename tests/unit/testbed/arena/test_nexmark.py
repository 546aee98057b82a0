"""Kanis's queries as simulated jobs: their rates, their sizes, and that they can be played."""

import math

import pytest

from testbed.arena.case import METRICS, Case
from testbed.arena.experiments.experiment import Experiment, read_experiment
from testbed.arena.playing import check_experiment, play
from testbed.arena.worlds.scenes import World, world_of

MEAN_ROWS_PER_S = 1_200_000
"""Of the cosine; a query's load_factor makes it its own."""


def query(name: str) -> Experiment:
    return read_experiment(f"nexmark-{name}")


def world(experiment: Experiment, workload: str = "kanis-cosine") -> World:
    return world_of(experiment, Case(workload=workload, seed=0, policy="static", variant=""))


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("q1", 1e5, 2.3e6), ("q2", 1e5, 2.3e6), ("q3", 1.5e3, 34.5e3), ("q5", 5e3, 115e3), ("q11", 1e5, 2.3e6)],
)
def test_rates_are_those_of_the_thesis(name, least, most):
    # Table 7.17: 0.2 to 2.2 M, 3 to 33 k, 10 to 110 k, and noise of a tenth of the amplitude on either side.
    loads = world(query(name)).scene.workloads.values()
    rates = [sum(step) for step in zip(*(load.rows_per_s for load in loads), strict=True)]
    assert least <= min(rates) < 1.5 * least + 0.1 * most
    assert 0.95 * most < max(rates) <= most


def test_three_auctions_come_for_a_person():
    scene = world(query("q3")).scene
    assert scene.workloads["auctions"].total_rows == pytest.approx(3 * scene.workloads["persons"].total_rows)
    # All auctions and half of the persons reach the join: 0.75 + 0.5 x 0.25 of the load.
    assert scene.source_shares("join") == {"auctions": 1.0, "persons": 0.5}


@pytest.mark.parametrize(("name", "replicas"), [("q1", 11), ("q2", 10), ("q3", 8), ("q5", 5), ("q11", 14)])
def test_at_70_per_cent_of_their_time_there_are_as_many_replicas_as_hpa_cpu_had(name, replicas):
    experiment = query(name)
    scene = world(experiment).scene
    total = 0
    for operator, section in experiment.operators.items():
        rate = (
            MEAN_ROWS_PER_S
            * (experiment.load_factor or 0)
            * sum(
                share * experiment.operators[source].load_share
                for source, share in scene.source_shares(operator).items()
            )
        )
        total += math.ceil(rate * (section.service_ms_per_row or 0) / 1000 / 0.7)
    assert total == replicas


@pytest.mark.parametrize(("name", "initial"), [("q1", 5), ("q2", 5), ("q3", 10), ("q5", 10), ("q11", 10)])
def test_runs_begin_with_the_replicas_of_the_thesis_and_to_converge_with_one(name, initial):
    assert {section.initial_replicas for section in query(name).operators.values()} == {initial}
    if name in {"q1", "q11"}:
        sections = query(f"{name}-convergence").operators.values()
        assert {section.initial_replicas for section in sections} == {1}


def test_the_first_step_of_the_load_can_be_seen_alone():
    experiment = query("q1-convergence")
    rise, both = (world(experiment, workload).scene.workloads["source"] for workload in experiment.workloads)
    assert rise.duration_s == 50 * 60
    assert {rise.rate_rows_per_s(at_s) - both.rate_rows_per_s(at_s) for at_s in range(0, 3000, 60)} == {0}


@pytest.mark.parametrize("name", ["q1", "q2", "q3", "q5", "q11", "ds2", "q1-convergence", "q11-convergence"])
def test_every_query_can_be_played(name):
    check_experiment(query(name))


def test_a_join_is_played_to_its_end():
    result = play(query("q3"), Case(workload="kanis-cosine", seed=0, policy="ds2"))
    assert not result.lost
    assert tuple(result.metrics) == METRICS
    assert result.metrics["drained"] is True
    assert result.metrics["max_replicas"] == 50  # five operators began with ten each
    assert 5 <= result.metrics["avg_replicas"] < 20
    # A step at 15 s, and another one after each 300 s of cool-down: 140 min hold 28.
    assert 5 <= result.metrics["scaling_actions"] <= 28 < result.metrics["last_action_s"] <= 8400
