"""Service accounts of a real cluster: connections and controllers with their rights, and which of these they used."""

import contextlib
import json
import threading
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

from kubernetes.client import Configuration

from gesscale.kubernetes.api import Connection
from gesscale.kubernetes.api.rights import Right, Scope
from gesscale.kubernetes.controller import Controller, ControllerOptions
from gesscale.kubernetes.targets import AllowedTarget
from testbed.kubernetes.audit import Request


def connect_as(cluster, namespace: str, account: str, folder: Path) -> Connection:
    """Return a connection with the rights of a service account."""
    token = cluster.run_kubectl("create", "token", account, "-n", namespace).strip()
    text = cluster.run_kubectl("get", "configmap", "kube-root-ca.crt", "-n", "default", "-o", "json")
    authority = folder / f"{account}.crt"
    authority.write_text(json.loads(text)["data"]["ca.crt"])
    configuration = Configuration(host=cluster.api_url, ssl_ca_cert=str(authority))
    configuration.api_key["BearerToken"] = f"Bearer {token}"
    return Connection(configuration, namespace=namespace, user_agent="gesscale/test")


@contextlib.contextmanager
def controller_as(
    cluster, namespace: str, account: str, folder: Path, *, watched: str | None = None
) -> Iterator[Controller]:
    """Run a controller with the rights of an account, with a lease of its own where it may have one.

    Parameters
    ----------
    watched
        Whose StreamAutoscalers it steers; None for all namespaces', as deploy/k3s does.
    """
    connection = connect_as(cluster, namespace, account, folder)
    options = ControllerOptions(
        folder=folder / account,
        namespace=watched,
        allowed_targets=(AllowedTarget.parse("127.0.0.1"),),
    )
    running = Controller(connection, options, version=version("gesscale"))
    thread = threading.Thread(target=running.run, name=account)
    thread.start()
    try:
        yield running
    finally:
        running.stop()
        thread.join(30)
        connection.close()
        assert not thread.is_alive()


def unused(rights: Iterable[Right], asked: Iterable[Request], *, own_namespace: str) -> list[str]:
    """Return the verbs of rights that no request needed.

    A right in all namespaces is needed where somebody asks without a namespace, or in another one than its own.
    """
    given = [(right, verb) for right in rights for verb in right.verbs]
    allowed = [request for request in asked if request.allowed]
    return [
        f"{verb} {right.target} {', '.join(right.names)}".strip()
        for right, verb in given
        if not any(_needs(request, right, verb, own_namespace) for request in allowed)
    ]


def _needs(request: Request, right: Right, verb: str, own_namespace: str) -> bool:
    if (request.verb, request.group, request.target) != (verb, right.resource.group, right.target):
        return False
    if right.scope is Scope.OWN_NAMESPACE:
        # The API server names the object of a create in its record only where the path does.
        return request.namespace == own_namespace and (not right.names or request.name in right.names)
    return request.namespace != own_namespace


def refused(asked: Iterable[Request]) -> list[str]:
    """Return what was asked for without the right to it."""
    return sorted(
        f"{each.verb} {each.target} {each.namespace}/{each.name}" for each in asked if not each.allowed
    )
