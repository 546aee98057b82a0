"""Kanis's queries as simulated jobs: rates, sizes and complete runs."""

import math

import pytest

from testbed.arena.case import Case
from testbed.arena.experiments.experiment import Experiment, read_experiment
from testbed.arena.worlds.scenes import World, world_of


def query(name: str) -> Experiment:
    return read_experiment(f"nexmark-{name}")


def world(experiment: Experiment) -> World:
    return world_of(experiment, Case(workload=experiment.workloads[0], seed=0, policy="static", variant=""))


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("q1", 1e5, 2.3e6), ("q2", 1e5, 2.3e6), ("q3", 1.5e3, 34.5e3), ("q5", 2.5e3, 117.5e3), ("q11", 1e5, 2.3e6)],
)
def test_rates_equal_the_thesis(name, least, most):
    # Table 7.17: 0.2 to 2.2 M, 3 to 33 k, 10 to 110 k; noise 100,000, 1,500 and 7,500 on either side.
    loads = world(query(name)).scene.workloads.values()
    rates = [sum(step) for step in zip(*(load.rows_per_s for load in loads), strict=True)]
    assert least <= min(rates) < 1.5 * least + 0.1 * most
    assert 0.95 * most < max(rates) <= most


@pytest.mark.parametrize(
    ("name", "mean", "replicas"),
    [("q1", 1.2e6, 11), ("q2", 1.2e6, 10), ("q3", 18e3, 8), ("q5", 60e3, 5), ("q11", 1.2e6, 14)],
)
def test_replicas_at_70_per_cent_cpu_equal_those_of_hpa_cpu(name, mean, replicas):
    experiment = query(name)
    scene = world(experiment).scene
    total = 0
    for operator, section in experiment.operators.items():
        shares = scene.source_shares(operator)
        rate = mean * sum(share * experiment.operators[source].load_share for source, share in shares.items())
        total += math.ceil(rate * (section.service_ms_per_row or 0) / 1000 / 0.7)
    assert total == replicas


def test_query_11_of_the_parameter_study_is_the_job_of_its_experiment():
    # Only the names of the second operator differ: map and count.
    varied, published = query("parameters").variant("query=q11"), query("q11")
    assert list(varied.operators.values())[:2] == list(published.operators.values())[:2]
    assert varied.operators["sink"].model_copy(update={"upstream": ("count",)}) == published.operators["sink"]
    assert varied.rules == published.rules


@pytest.mark.parametrize(("name", "sources"), [("q1", 1), ("q2", 1), ("q3", 2), ("q5", 1), ("q11", 1)])
def test_kafka_keeps_five_minutes(name, sources):
    scene = world(query(name)).scene
    assert set(scene.retention_s) == set(scene.workloads)
    assert list(scene.retention_s.values()) == [300.0] * sources  # section 6.3.1
