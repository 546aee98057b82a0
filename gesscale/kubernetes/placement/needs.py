"""What one executor of an operator needs of a node: as the resource says, else as those that run have it."""

from collections.abc import Mapping

from gesscale.kubernetes.placement.applications import Application
from gesscale.kubernetes.placement.nodes import NodeRecord
from gesscale.kubernetes.placement.quantity import ONE_POD, Room, parse_quantity, room_of
from gesscale.kubernetes.placement.room import ExecutorNeeds
from gesscale.kubernetes.resource.autoscaler import StreamAutoscaler


def needs_of(
    resource: StreamAutoscaler, application: Application, nodes: Mapping[str, NodeRecord]
) -> ExecutorNeeds:
    """Return what one executor needs of a node.

    Parameters
    ----------
    resource
        The operator.
    application
        Its driver and executors; one that runs tells more than one that waits for a node.
    nodes
        By name; the architectures of those in use are those that the image is known to run on.
    """
    spec = resource.spec.executor
    sample = min(application.executors, key=lambda pod: not pod.node, default=None)
    takes = sample.takes if sample is not None else ONE_POD
    asked = {"cpu": spec.requests.cpu, "memory": spec.requests.memory}
    stated = room_of({what: parse_quantity(amount) for what, amount in asked.items() if amount is not None})
    used = {pod.node for pod in application.executors}
    if application.place is not None:
        used.add(application.place.node)
    seen = {nodes[name].architecture for name in used if name in nodes}
    return ExecutorNeeds(
        takes=Room(
            cpu_m=takes.cpu_m if spec.requests.cpu is None else stated.cpu_m,
            memory_bytes=takes.memory_bytes if spec.requests.memory is None else stated.memory_bytes,
            pods=1,
        ),
        pool=resource.spec.node_pool,
        architectures=frozenset(spec.architectures) or frozenset(seen - {""}),
        tolerations=sample.tolerations if sample is not None else (),
    )
