"""The world of a case: the same for every policy of a seed, and scaled to the capacity of replicas."""

from dataclasses import replace

import numpy as np
import pytest
from refusals import refused

from gesscale.errors import InputError
from testbed.arena.case import Case
from testbed.arena.experiments.experiment import Experiment, experiment_of
from testbed.arena.policies.perfect_foresight import ideal_replicas
from testbed.arena.worlds.fog_nodes import seed_of, stream
from testbed.arena.worlds.scenes import ChangeEffect, World, world_of
from testbed.workloads.workload import Workload

REQUIRED = {"name": "mine", "policies": ["static"], "workloads": ["steps:1"], "nodes": {"topology": "edge8"}}
DRAWN = {"generated": {"per_seed": True}, "count": 4}


def made(**settings: object) -> Experiment:
    return experiment_of({**REQUIRED, **settings}, "mine.yaml")


def world(
    policy: str = "gesscale", seed: int = 0, workload: str = "steps:1", variant: str = "", **settings: object
) -> World:
    return world_of(made(**settings), Case(workload=workload, seed=seed, policy=policy, variant=variant))


def test_purposes_of_a_seed_have_independent_numbers():
    assert seed_of(1, "plant") == seed_of(1, "plant")
    assert len({seed_of(seed, purpose) for seed in (0, 1) for purpose in ("plant", "workload", "policy")}) == 6
    first, other = (np.random.default_rng(stream(3, purpose)).random() for purpose in ("plant", "workload"))
    assert first != other


def test_the_same_seed_gives_every_policy_the_same_world():
    one, other = (world(policy, 5, "kanis-random", nodes=DRAWN).scene for policy in ("gesscale", "thr-nlaware"))
    assert one == other


@pytest.mark.parametrize("engine", ["spark", "flink"])
def test_the_peak_of_a_pattern_is_a_share_of_the_capacity(engine):
    found = world(engine=engine, peak_share=0.7, operators={"operator": {"max_replicas": 5}})
    most = max(found.best["operator"][count][0] for count in range(1, 6))
    assert found.scene.workloads["operator"].peak_rows_per_s == pytest.approx(0.7 * most)


def test_sources_share_a_load():
    pair = {
        "auctions": {"load_share": 0.75},
        "persons": {"load_share": 0.25},
        "join": {"upstream": ["auctions", "persons"]},
    }
    loads = world(load_factor=1, operators=pair).scene.workloads
    assert {name: load.peak_rows_per_s for name, load in loads.items()} == {"auctions": 750, "persons": 250}
    scaled = world(operators=pair, peak_share=0.5)
    loads = scaled.scene.workloads
    assert loads["auctions"].peak_rows_per_s == pytest.approx(3 * loads["persons"].peak_rows_per_s)
    most = max(scaled.best["join"][count][0] for count in range(1, 9))
    assert sum(load.peak_rows_per_s for load in loads.values()) == pytest.approx(0.5 * most)


def test_replicas_start_on_the_drivers_node_and_the_nearest():
    assert world().scene.initial == {"operator": ("edge1",)}
    found = world(operators={"operator": {"initial_replicas": 3}}, nodes={"topology": "edge8", "driver_node": "edge4"})
    # from edge4: edge5 is 6 ms away, edge1 38 ms
    assert found.scene.initial == {"operator": ("edge1", "edge4", "edge5")}


def test_a_warm_start_has_the_best_placement_for_the_first_minutes(tmp_path):
    # 900 rows/s for a minute and 400 rows/s for four: 500 rows/s in the mean over five minutes, then 2,000 rows/s.
    file = tmp_path / "load.csv"
    file.write_text("t_s,rows_per_s\n0,900\n60,400\n300,2000\n600,0\n", "utf-8")
    cold = {"operators": {"operator": {"initial_replicas": 1}}, "workloads": [str(file)]}
    warm = {"operators": {"operator": {"initial_replicas": "needed"}}, "workloads": [str(file)]}
    found, other = (world(workload=str(file), **settings) for settings in (warm, cold))
    best = found.best["operator"]
    (placement,) = found.scene.initial.values()
    assert best[len(placement)][0] >= 500 > best[len(placement) - 1][0]
    assert placement == best[len(placement)][1]
    # The rest of the world is the same.
    assert replace(found.scene, initial=other.scene.initial) == other.scene
    # References start as usual: with the replicas for the peak, or for the load now.
    for policy in ("static", "ideal"):
        assert (
            world(policy, workload=str(file), **warm).scene.initial
            == world(policy, workload=str(file), **cold).scene.initial
        )


def test_static_starts_with_the_best_placement_for_the_peak():
    found = world("static")
    best = found.best["operator"]
    load = found.scene.workloads["operator"]
    count, placement = best.smallest_for(load.peak_rows_per_s)
    assert found.scene.initial == {"operator": placement}
    assert best[count][0] >= load.peak_rows_per_s > best[count - 1][0]


def test_settings_of_an_operator_override_the_physics():
    fast, slow = (
        world(operators={"operator": {"service_ms_per_row": service_ms}}).best["operator"][1][0]
        for service_ms in (5, 10)
    )
    assert fast > 1.8 * slow  # twice the work, and the same fixed time of a batch
    restart = {"operator": {"restart": "45s", "constants": {"cold_share": 0.3, "warm_up_s": 20}}}
    # 0.3 exp(-t / 20 s) of a replica is missing at t after the restart: 6 s in all
    assert world(engine="flink", operators=restart).changes == {
        "operator": ChangeEffect(duration_s=45.0, warm_up_s=6.0, stops=True)
    }
    start = {"operator": {"constants": {"start_s": 33, "cold_min_s": 2, "cold_max_s": 4}}}
    assert world(operators=start).changes == {"operator": ChangeEffect(duration_s=33.0, warm_up_s=3.0, stops=False)}


def test_history_covers_a_restart_on_flink_and_not_on_spark():
    def history_s(**settings: object) -> float:
        return world(**settings).scene.metrics.history_s

    assert history_s() == 180
    # 120 s and three periods of 60 s.
    assert history_s(engine="flink") == 300
    assert history_s(engine="flink", operators={"operator": {"restart": "10m"}}, period="30s") == 690
    assert history_s(engine="flink", metrics={"history": "20m"}) == 1200


@pytest.mark.parametrize(
    ("settings", "code", "fields"),
    [
        ({"variant": "x=y"}, "experiment-variant-unknown", {"variant": "x=y"}),
        (
            {"nodes": {"topology": "edge8", "count": 2}, "operators": {"operator": {"initial_replicas": 3}}},
            "initial-replicas-exceeded",
            {"max": 2, "got": 3},
        ),
        ({"operators": {"operator": {"physics": "nowhere"}}}, "constants-unreadable", {"source": "nowhere"}),
        (
            {"operators": {"operator": {"constants": {"restart_s": 3}}}},
            "constant-unknown",
            {"source": "operators.operator.constants", "constant": "restart_s"},
        ),
        (
            {"operators": {"operator": {"constants": {"partitions": 2.5}}}},
            "field-invalid",
            {"source": "operators.operator.constants", "place": "partitions"},
        ),
        (
            {"faults": {"failures": [{"node": "moon", "from": 0, "until": 9}]}},
            "fault-node-unknown",
            {"nodes": ["moon"]},
        ),
    ],
)
def test_an_impossible_world_is_rejected(settings, code, fields):
    with refused(code, InputError, **fields):
        world(**settings)


@pytest.mark.parametrize("upstream", [{}, {"b": {"upstream": ["a"]}}], ids=["missing", "cycle"])
def test_a_workflow_that_is_no_graph_without_cycles_is_rejected(upstream):
    with pytest.raises(InputError):
        world(operators={"a": {"upstream": ["b"]}, **upstream})


def test_ideal_processes_an_overload_afterwards():
    # Two replicas at most. For 60 s the load is twice their capacity; they need another 60 s to process the backlog.
    # Then one replica is enough for 1 row/s. Samples are 10 s long.
    small = {"operators": {"operator": {"max_replicas": 2}}}
    plain = world("ideal", **small)
    most = plain.best["operator"][2][0]
    steep = Workload(name="steep", step_s=60.0, rows_per_s=(2 * most, 0.0, 1.0, 1.0), absolute=True)
    scene = replace(plain.scene, workloads={"operator": steep})
    replicas = ideal_replicas(scene, plain.best)
    assert [replicas("operator", at_s) for at_s in (0.0, 50.0, 60.0, 110.0, 120.0, 1e6)] == [2, 2, 2, 2, 1, 1]


@pytest.mark.parametrize("workload", ["steps:1", "steps:20"])
def test_every_load_can_have_another_duration(workload: str):
    short = world(workload=workload, length="240s").scene.workloads["operator"]
    assert short.duration_s == pytest.approx(240.0)
    # the same peak as without: a pattern is scaled to the capacity of the replicas
    assert short.peak_rows_per_s == world(workload=workload).scene.workloads["operator"].peak_rows_per_s
