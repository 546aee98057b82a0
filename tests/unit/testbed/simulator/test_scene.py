from typing import Any

import pytest
from refusals import refused
from spark_scenes import chain, equal_delays, one_operator, steady

from gesscale.errors import InputError
from gesscale.model.workflow import Operator, Workflow
from testbed.simulator.scene import Scene, SimulatedNode


def scene(**changes: Any) -> Scene:
    return one_operator(steady(10, 100), delays=equal_delays(2, 1), **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"initial": {"op": ()}},
        {"initial": {"op": ("n0", "n0")}},
        {"initial": {"op": ("n7",)}},
        {"nodes": {"n1": SimulatedNode(name="n1")}, "initial": {"op": ("n1",)}},
    ],
)
def test_replicas_and_drivers_are_on_nodes_of_the_scene(changes: dict[str, Any]) -> None:
    with refused("simulated-placement-invalid", InputError, operator="op"):
        scene(**changes)


def test_a_downstream_operator_gets_the_output_of_upstream_ones() -> None:
    assert chain(steady(10, 100), delays=equal_delays(2, 1), ratio=0.5).source_shares("second") == {"first": 0.5}
    # Two ways from a source: 2 x 0.5 directly and 2 x 1 x 3 by the filter.
    joined = Scene(
        workflow=Workflow(
            [
                Operator(name="read", driver_node="n0"),
                Operator(name="split", driver_node="n0", upstream=("read",)),
                Operator(name="join", driver_node="n0", upstream=("read", "split")),
            ]
        ),
        nodes={"n0": SimulatedNode(name="n0")},
        delays=equal_delays(1, 0),
        workloads={"read": steady(10, 100)},
        initial=dict.fromkeys(("read", "split", "join"), ("n0",)),
        selectivity={"read": 2.0, "split": 3.0},
    )
    assert joined.source_shares("join") == {"read": 2.0 + 2.0 * 3.0}
    assert joined.source_shares("read") == {"read": 1.0}
