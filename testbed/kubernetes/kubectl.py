"""kubectl as the administrator, and the account of a Spark driver."""

import json
import time
from collections.abc import Callable
from pathlib import Path

from gesscale.common.errors import Problem
from gesscale.common.shell import command_line
from gesscale.errors import ClusterError
from gesscale.kubernetes.resource.autoscaler import GROUP
from gesscale.kubernetes.resource.crd import definition
from testbed.cluster.commands import run

_SERVED_WITHIN_S = 240.0


def run_kubectl(
    program: Path, kubeconfig: Path, *arguments: str, stdin: str | None = None, timeout_s: float = 60.0
) -> str:
    """Run kubectl and return its output.

    Raises
    ------
    ClusterError
        If it fails; the message quotes its output.
    """
    return run(
        (str(program), "--kubeconfig", str(kubeconfig), *arguments),
        failure=Problem("command-failed", {"command": command_line(("kubectl", *arguments))}),
        stdin=stdin,
        timeout_s=timeout_s,
    )


def define_autoscalers(kubectl: Callable[..., str]) -> None:
    """Apply the definition of StreamAutoscalers, and wait until the API server serves them.

    ``kubectl wait`` would fail at once on a definition that has no conditions yet.

    Raises
    ------
    ClusterError
        If they are not served in time.
    """
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(definition()))
    deadline_s = time.monotonic() + _SERVED_WITHIN_S
    while True:
        try:
            kubectl("get", "streamautoscalers", "--all-namespaces")
        except ClusterError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.5)
        else:
            return


def create_namespace(kubectl: Callable[..., str], name: str) -> None:
    """Create a namespace, and wait until pods can be created in it: a controller adds its service account.

    Raises
    ------
    ClusterError
        If it cannot be created, or has no service account in time.
    """
    kubectl("create", "namespace", name)
    timeout = f"--timeout={_SERVED_WITHIN_S:.0f}s"
    kubectl("-n", name, "wait", "--for=create", "serviceaccount/default", timeout, timeout_s=_SERVED_WITHIN_S + 30)


#: With these Spark needs no rights to ConfigMaps, Services or volumes, which `driver_account` does not grant.
FEW_RIGHTS_SETTINGS = {
    "spark.kubernetes.executor.disableConfigMap": "true",
    "spark.kubernetes.driver.service.deleteOnTermination": "false",
    "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
    "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
}


def driver_account(autoscaler: str, account: str) -> str:
    """Return a ServiceAccount, its Role and the binding, as JSON that kubectl creates in a namespace."""
    rules = [
        {
            "apiGroups": [GROUP],
            "resources": ["streamautoscalers"],
            "resourceNames": [autoscaler],
            "verbs": ["get", "watch"],
        },
        {
            "apiGroups": [""],
            "resources": ["pods"],
            "verbs": ["create", "get", "list", "watch", "delete", "deletecollection"],
        },
    ]
    api, metadata = "rbac.authorization.k8s.io", {"name": account}
    role = {"apiVersion": f"{api}/v1", "kind": "Role", "metadata": metadata, "rules": rules}
    binding = {
        "apiVersion": f"{api}/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": api, "kind": "Role", "name": account},
        "subjects": [{"kind": "ServiceAccount", "name": account}],
    }
    service_account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [service_account, role, binding]})
