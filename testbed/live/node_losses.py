"""The ways in which a node of Kubernetes is lost to an application, and how it comes back."""

from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum

from gesscale.errors import ClusterError
from testbed.cluster.commands import retry
from testbed.kubernetes.control_plane import wait_until
from testbed.live.kubernetes import KubernetesApplication

#: Label of the nodes that may hold executors.
POOL = ("gesscale.dev/pool", "edge")
_BACK_S, _DRAIN_S = 120.0, 40.0


class NodeLoss(StrEnum):
    """What happens to a node."""

    DELETED = "deleted"
    DRAINED = "drained"
    #: Cordoned, and its executor deleted: the next one stays Pending.
    CORDONED = "cordoned"
    #: Its network link goes down.
    CUT_OFF = "cut-off"
    TAINTED = "tainted"
    #: Its label of the pool is removed, and its executor deleted.
    RELABELLED = "relabelled"
    #: Two nodes are deleted at once.
    TWO_DELETED = "two-deleted"
    #: No node is lost: the API server ends.
    API_AWAY = "api-away"
    #: A drain of the driver's node, which a PodDisruptionBudget refuses.
    DRIVER_DRAINED = "driver-drained"
    DRIVER_DELETED = "driver-deleted"


_DELETE, _DRAIN = (
    "delete node {} --wait=false",
    f"drain {{}} --ignore-daemonsets --force --delete-emptydir-data --timeout={_DRAIN_S:g}s",
)
_JOIN, _TAINT = f"label --overwrite node {{}} {POOL[0]}={POOL[1]}", "taint node {} gesscale.dev/trial=lost:NoExecute"
#: Words of kubectl that lose a node and that bring it back.
_KUBECTL = {
    NodeLoss.DELETED: (_DELETE, _JOIN),
    NodeLoss.TWO_DELETED: (_DELETE, _JOIN),
    NodeLoss.DRIVER_DELETED: (_DELETE, "get node {}"),
    NodeLoss.DRAINED: (_DRAIN, "uncordon {}"),
    NodeLoss.DRIVER_DRAINED: (_DRAIN, "uncordon {}"),
    NodeLoss.CORDONED: ("cordon {}", "uncordon {}"),
    NodeLoss.TAINTED: (_TAINT, f"{_TAINT}-"),
    NodeLoss.RELABELLED: (f"label node {{}} {POOL[0]}-", _JOIN),
}


def lose(application: KubernetesApplication, loss: NodeLoss, nodes: Sequence[str]) -> None:
    """Inject a loss.

    Raises
    ------
    ClusterError
        If it cannot be injected.
    """
    cluster = application.cluster
    if loss is NodeLoss.API_AWAY:
        cluster.kill_api_server()
    for node in nodes:
        if loss is NodeLoss.CUT_OFF:
            cluster.cut_off(node)
        elif loss in {NodeLoss.DRAINED, NodeLoss.DRIVER_DRAINED}:
            with suppress(ClusterError):  # it is refused, or a pod needs longer to end
                _kubectl(application, _DRAIN, node)
        else:
            _kubectl(application, _KUBECTL[loss][0], node)
        if loss in {NodeLoss.CORDONED, NodeLoss.RELABELLED}:
            executor = ("-l", "spark-role=executor", f"--field-selector=spec.nodeName={node}")
            application.kubectl("delete", "pod", *executor, "--wait=false")


def bring_back(application: KubernetesApplication, loss: NodeLoss, nodes: Sequence[str]) -> None:
    """Undo a loss, and wait until all nodes are ready.

    Raises
    ------
    ClusterError
        If they are not in time.
    """
    cluster = application.cluster
    if loss is NodeLoss.API_AWAY:
        cluster.start_api_server()
    for node in nodes:
        if loss is NodeLoss.CUT_OFF:
            cluster.reconnect(node)
            continue
        if _KUBECTL[loss][0] is _DELETE:  # a kubelet registers its node when it starts
            cluster.kill_kubelet(node)
            cluster.start_kubelet(node)
        retry(lambda node=node: _kubectl(application, _KUBECTL[loss][1], node), _BACK_S)  # type: ignore[misc]
    log = cluster.files.log("kube-controller-manager")
    wait_until(lambda: not cluster.not_ready(), what="all kubelets", timeout_s=_BACK_S, log=log)


def prepare(application: KubernetesApplication) -> None:
    """Put all nodes but the driver's into a pool, and allow no disruption of the driver."""
    name = application.operator.name
    for node in application.cluster.node_names:
        if node != application.driver_node:
            _kubectl(application, _JOIN, node)
    application.patch({"nodePool": {"matchLabels": dict([POOL])}})
    driver = f"--selector=spark-role=driver,gesscale.dev/autoscaler={name}"
    application.kubectl("create", "poddisruptionbudget", application.driver_pod, driver, "--min-available=1")


def _kubectl(application: KubernetesApplication, words: str, node: str) -> None:
    application.cluster.run_kubectl(*words.format(node).split(), timeout_s=_DRAIN_S + 30.0)
