"""Many operators need the same node at once: its last room is reserved for one of them."""

import re

import pytest
from kube import EPOCH_S, MIB, FakeApi, FakeCluster, by_hand, context_of, driver, node, order_writer_of, pod

from gesscale.kubernetes.controller.workflow_controller import WorkflowController
from gesscale.kubernetes.placement.nodes import Room
from gesscale.kubernetes.resource.translate import group_into_workflows
from gesscale.model.decision import OutcomeStatus

NAMES = tuple(f"op-{number:02d}" for number in range(20))


class Scene:
    """Twenty operators, each with an executor on a; overrides also place them on b, which has one CPU left."""

    def __init__(self, *, workflow=None):
        self.api = FakeApi()
        for name in NAMES:
            self.api.put(name, **by_hand("a", "b"), **({"workflow": workflow} if workflow else {}))
        # An executor requests one CPU (tests/kube.py), so b has room for one of twenty.
        other = pod("other", "b", of="other", requests=Room(cpu_m=1000, memory_bytes=MIB, pods=1))
        executors = [pod(f"{name}-e1", "a", of=name) for name in NAMES]
        self.world = FakeCluster(
            nodes=[
                node("a", room=Room(cpu_m=64000, memory_bytes=65536 * MIB, pods=110)),
                node("b", room=Room(cpu_m=2000, memory_bytes=65536 * MIB, pods=110)),
            ],
            pods=[other, *executors, *(driver("a", of=name) for name in NAMES)],
        )
        self.context = context_of(self.world.snapshot, order_writer_of(self.api))
        self.steered = {
            key: WorkflowController(found, self.context, 1, {}, EPOCH_S)
            for key, found in group_into_workflows(self.api.seen.values()).workflows.items()
        }

    def step(self, after_s=1.0):
        workflows = group_into_workflows(self.api.seen.values()).workflows
        return [
            decision
            for key, steered in self.steered.items()
            for decision in steered.step(workflows[key], EPOCH_S + after_s).decisions
        ]

    def promised(self):
        return [name for name in NAMES if "b" in self.api.status(name).get("order", {}).get("placement", ())]


@pytest.mark.parametrize("workflow", [None, "taxi"], ids=["workflows of their own", "one workflow"])
def test_the_last_core_of_a_node_is_reserved_once(workflow):
    scene = Scene(workflow=workflow)
    decisions = scene.step()
    assert len(scene.promised()) == 1
    ordered = [each for each in decisions if each.outcome.status is OutcomeStatus.ORDERED]
    assert [each.operator for each in ordered] == scene.promised()


@pytest.mark.parametrize("workflow", [None, "taxi"], ids=["workflows of their own", "one workflow"])
def test_it_stays_reserved_until_the_executor_is_bound(workflow):
    scene = Scene(workflow=workflow)
    scene.step()
    scene.api.catch_up()
    scene.step(2.0)
    assert len(scene.promised()) == 1


def test_a_later_order_of_the_step_fails_for_lack_of_room():
    decisions = Scene(workflow="taxi").step()
    late = [each for each in decisions if each.outcome.status is OutcomeStatus.FAILED]
    # All twenty were planned on the state before the first order.
    assert len(late) == len(NAMES) - 1
    assert re.findall(r"[\d.]+", late[0].outcome.detail)[-3:] == ["1", "0", "2"]  # CPU: requested, free, total
