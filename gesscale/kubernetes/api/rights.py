"""The rights that gesscale needs in a cluster, each with its reason: roles are written from this list.

The controller asks the API server for each of them at its start (SelfSubjectAccessReview), so that a missing one is
named before it is missed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from gesscale.kubernetes.api.connection import Connection, Object
from gesscale.kubernetes.api.lease import LEASE_NAME
from gesscale.kubernetes.api.resources import (
    ACCESS_REVIEWS,
    CONFIG_MAPS,
    EVENTS,
    LEASES,
    NODES,
    PODS,
    STREAM_AUTOSCALERS,
    Resource,
)


class Scope(StrEnum):
    """Where a right holds."""

    CLUSTER = "cluster"
    OWN_NAMESPACE = "own namespace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """What may be done to which objects, and why.

    Attributes
    ----------
    subresource
        Such as ``status``; empty for the objects themselves.
    names
        The only objects; empty for all.
    why
        One line.
    """

    resource: Resource
    subresource: str = ""
    verbs: tuple[str, ...]
    scope: Scope = Scope.CLUSTER
    names: tuple[str, ...] = ()
    why: str

    @property
    def target(self) -> str:
        """The objects as roles name them, such as ``streamautoscalers/status``."""
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural


CONTROLLER_RIGHTS = (
    Right(
        resource=STREAM_AUTOSCALERS,
        verbs=("list", "watch"),
        why="what is to be scaled, in whatever namespace; the controller never changes a spec",
    ),
    Right(
        resource=STREAM_AUTOSCALERS,
        subresource="status",
        verbs=("patch",),
        why="its report, and the order that the driver obeys: this is all it does to scale",
    ),
    Right(
        resource=NODES,
        verbs=("list", "watch"),
        why="which nodes are ready, in the pool and of the right architecture",
    ),
    Right(
        resource=PODS,
        verbs=("list", "watch"),
        why="where drivers and executors are, and how much room all pods leave on a node",
    ),
    Right(
        resource=EVENTS,
        verbs=("create", "patch"),
        why="what kubectl describe shows of a decision; patch counts the same one again",
    ),
    Right(
        resource=LEASES,
        verbs=("create",),
        scope=Scope.OWN_NAMESPACE,
        why="the Lease of the leader, once; RBAC cannot restrict create to a name",
    ),
    Right(
        resource=LEASES,
        verbs=("get", "update"),
        scope=Scope.OWN_NAMESPACE,
        names=(LEASE_NAME,),
        why="winning, renewing and giving back the leader's Lease, and no other",
    ),
)
"""All that the controller may do without anybody's doing; see `map_right`."""


def map_right(config_map: str) -> Right:
    """Return what the owner of a namespace grants the controller there, for a latency map in a ConfigMap.

    Parameters
    ----------
    config_map
        Its name.
    """
    return Right(
        resource=CONFIG_MAPS,
        verbs=("get",),
        scope=Scope.OWN_NAMESPACE,
        names=(config_map,),
        why="the latency map that a StreamAutoscaler of this namespace names, and no other ConfigMap",
    )


_SERVICES = Resource(plural="services", kind="Service")
_CLAIMS = Resource(plural="persistentvolumeclaims", kind="PersistentVolumeClaim")

FEW_RIGHTS_SETTINGS = {
    "spark.kubernetes.executor.disableConfigMap": "true",
    "spark.kubernetes.driver.service.deleteOnTermination": "false",
    "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
    "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
}
"""With these Spark asks for no ConfigMap, Service or volume, which `driver_rights` does not give."""


def driver_rights(autoscaler: str) -> tuple[Right, ...]:
    """Return what a Spark driver with gesscale.spark and `FEW_RIGHTS_SETTINGS` may do, in its own namespace.

    Parameters
    ----------
    autoscaler
        The only StreamAutoscaler that it may read.
    """
    own = Scope.OWN_NAMESPACE
    return (
        Right(
            resource=STREAM_AUTOSCALERS,
            verbs=("get", "watch"),
            scope=own,
            names=(autoscaler,),
            why="its orders come from its own StreamAutoscaler; it may not change it, nor see others",
        ),
        Right(
            resource=PODS,
            verbs=("create", "get", "list", "watch", "delete", "deletecollection"),
            scope=own,
            why="Spark starts, watches and removes its executors; an order withdraws one that waits",
        ),
    )


SPARK_DEFAULT_RIGHTS = (
    Right(
        resource=CONFIG_MAPS,
        verbs=("create", "deletecollection"),
        scope=Scope.OWN_NAMESPACE,
        why="Spark hands the files of its conf folder to executors by a ConfigMap",
    ),
    Right(
        resource=_SERVICES,
        verbs=("deletecollection",),
        scope=Scope.OWN_NAMESPACE,
        why="Spark removes the driver's headless Service at the end, even where there is none",
    ),
    Right(
        resource=_CLAIMS,
        verbs=("list", "deletecollection"),
        scope=Scope.OWN_NAMESPACE,
        why="Spark looks for volumes of its executors, and clears them at the end, even where there are none",
    ),
)
"""What a driver needs beside `driver_rights` where Spark's defaults stand instead of `FEW_RIGHTS_SETTINGS`."""


def missing_rights(
    connection: Connection, rights: Sequence[Right] = CONTROLLER_RIGHTS, *, timeout_s: float = 5.0
) -> tuple[Right, ...]:
    """Ask the API server which rights we lack.

    Parameters
    ----------
    connection
        Whose credentials are asked about; its namespace is our own.
    timeout_s
        For each of the questions; there is one per verb and name.

    Returns
    -------
    tuple of Right
        Those that lack a verb, with the missing verbs only.

    Raises
    ------
    ApiError
        The API server did not answer.
    """
    missing = []
    for right in rights:
        verbs = tuple(
            verb
            for verb in right.verbs
            if not all(_allowed(connection, right, verb, name, timeout_s) for name in right.names or ("",))
        )
        if verbs:
            missing.append(
                Right(
                    resource=right.resource,
                    subresource=right.subresource,
                    verbs=verbs,
                    scope=right.scope,
                    names=right.names,
                    why=right.why,
                )
            )
    return tuple(missing)


def in_words(right: Right) -> str:
    """Say a missing right and what it is for.

    Examples
    --------
    >>> in_words(CONTROLLER_RIGHTS[1])[:73]
    'patch streamautoscalers/status (gesscale.dev) in all namespaces: its repo'
    """
    group = f" ({right.resource.group})" if right.resource.group else ""
    names = f" named {', '.join(right.names)}" if right.names else ""
    if right.scope is Scope.OWN_NAMESPACE:
        place = " in its own namespace"
    else:
        place = " in all namespaces" if right.resource.namespaced else ""
    return f"{', '.join(right.verbs)} {right.target}{group}{names}{place}: {right.why}"


def _allowed(connection: Connection, right: Right, verb: str, name: str, timeout_s: float) -> bool:
    attributes = {
        "group": right.resource.group,
        "version": right.resource.version,
        "resource": right.resource.plural,
        "subresource": right.subresource,
        "verb": verb,
        "name": name,
        "namespace": connection.namespace if right.scope is Scope.OWN_NAMESPACE else "",
    }
    review: Object = {
        "apiVersion": ACCESS_REVIEWS.api_version,
        "kind": ACCESS_REVIEWS.kind,
        "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
    }
    answer = connection.create(ACCESS_REVIEWS, review, timeout_s=timeout_s)
    return bool(answer.get("status", {}).get("allowed"))
