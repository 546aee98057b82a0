"""The list of rights as RBAC manifests, the reason of each right above its rule.

``python -m gesscale.kubernetes.api.roles`` prints the controller's, which is deploy/k3s/controller/rbac.yaml.
"""

import json
import sys
from collections.abc import Iterable

from gesscale.kubernetes.api.rights import CONTROLLER_RIGHTS, Right, Scope, driver_rights, map_right
from latency_map.shell import command_line

NAMESPACE = "gesscale"
CONTROLLER = "gesscale-controller"
_RBAC = "rbac.authorization.k8s.io/v1"
_HEAD = """\
# Written by python -m gesscale.kubernetes.api.roles from the list in gesscale/kubernetes/api/rights.py; a test compares
# the two. No verb more than the controller uses: it asks for each at its start, and names those that are missing.
"""


def controller_roles(namespace: str = NAMESPACE, account: str = CONTROLLER) -> str:
    """Return the controller's ServiceAccount, its ClusterRole and Role, and their bindings, as YAML.

    Parameters
    ----------
    namespace
        Where the controller runs.
    account
        Its ServiceAccount, whose name the roles take too.
    """
    in_cluster = [right for right in CONTROLLER_RIGHTS if right.scope is Scope.CLUSTER]
    in_own = [right for right in CONTROLLER_RIGHTS if right.scope is Scope.OWN_NAMESPACE]
    return _HEAD + "---\n".join(
        (
            _account(account, namespace),
            _role("ClusterRole", account, None, in_cluster),
            _binding("ClusterRole", account, None, account, namespace),
            _role("Role", account, namespace, in_own),
            _binding("Role", account, namespace, account, namespace),
        )
    )


def driver_roles(autoscaler: str, namespace: str, account: str) -> str:
    """Return the ServiceAccount of a Spark driver with gesscale.spark, its Role and the binding, as YAML.

    The driver needs `gesscale.kubernetes.api.rights.FEW_RIGHTS_SETTINGS`, or its executors do not start.

    Parameters
    ----------
    autoscaler
        The only StreamAutoscaler that the driver may read.
    account
        The driver's ServiceAccount, whose name the Role takes too.
    """
    return "---\n".join(
        (
            _account(account, namespace),
            _role("Role", account, namespace, driver_rights(autoscaler)),
            _binding("Role", account, namespace, account, namespace),
        )
    )


def map_role(config_map: str, namespace: str) -> str:
    """Return the Role and the binding by which the owner of a namespace lets the controller read one map, as YAML.

    Parameters
    ----------
    config_map
        The only ConfigMap that it may read.
    namespace
        Of the ConfigMap and of the StreamAutoscalers that name it.
    """
    name = _map_role_name(config_map)
    return "---\n".join(
        (
            _role("Role", name, namespace, [map_right(config_map)]),
            _binding("Role", name, namespace, CONTROLLER, NAMESPACE),
        )
    )


def map_command(config_map: str, namespace: str, user: str) -> str:
    """Return the commands, in one line, that grant what `map_role` grants.

    Parameters
    ----------
    user
        The controller, as the API server calls it: ``system:serviceaccount:NAMESPACE:NAME`` or a person's name.

    Examples
    --------
    >>> print(map_command("map", "taxi", "anne"))  # doctest: +NORMALIZE_WHITESPACE
    kubectl -n taxi create role read-map --verb=get --resource=configmaps --resource-name=map &&
    kubectl -n taxi create rolebinding read-map --role=read-map --user=anne
    """
    name = _map_role_name(config_map)
    account = user.removeprefix("system:serviceaccount:")
    subject = f"--user={user}" if account == user else f"--serviceaccount={account}"
    create = ("kubectl", "-n", namespace, "create")
    role = (*create, "role", name, "--verb=get", "--resource=configmaps", f"--resource-name={config_map}")
    binding = (*create, "rolebinding", name, f"--role={name}", subject)
    return f"{command_line(role)} && {command_line(binding)}"


def _map_role_name(config_map: str) -> str:
    return f"read-{config_map}"


def _account(name: str, namespace: str) -> str:
    return _head("v1", "ServiceAccount", name, namespace)


def _role(kind: str, name: str, namespace: str | None, rights: Iterable[Right]) -> str:
    return _head(_RBAC, kind, name, namespace) + "rules:\n" + "".join(_rule(right) for right in rights)


def _rule(right: Right) -> str:
    names = f"    resourceNames: {_list(right.names)}\n" if right.names else ""
    return (
        f"  # {right.why}\n"
        f"  - apiGroups: {_list((right.resource.group,))}\n"
        f"    resources: {_list((right.target,))}\n"
        f"{names}"
        f"    verbs: {_list(right.verbs)}\n"
    )


def _binding(role_kind: str, name: str, namespace: str | None, account: str, account_namespace: str) -> str:
    return _head(_RBAC, f"{role_kind}Binding", name, namespace) + (
        "roleRef:\n"
        "  apiGroup: rbac.authorization.k8s.io\n"
        f"  kind: {role_kind}\n"
        f"  name: {name}\n"
        "subjects:\n"
        "  - kind: ServiceAccount\n"
        f"    name: {account}\n"
        f"    namespace: {account_namespace}\n"
    )


def _head(api_version: str, kind: str, name: str, namespace: str | None) -> str:
    place = f"  namespace: {namespace}\n" if namespace else ""
    return (
        f"apiVersion: {api_version}\n"
        f"kind: {kind}\n"
        "metadata:\n"
        f"  name: {name}\n"
        f"{place}"
        "  labels:\n"
        "    app.kubernetes.io/name: gesscale\n"
        "    app.kubernetes.io/part-of: gesscale\n"
    )


def _list(values: Iterable[str]) -> str:
    return json.dumps(list(values))


if __name__ == "__main__":
    sys.stdout.write(controller_roles())
