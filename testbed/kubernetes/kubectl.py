"""kubectl as the administrator, and the account of a Spark driver."""

import json
from collections.abc import Callable
from pathlib import Path

import yaml

from gesscale.common.errors import Problem
from gesscale.common.shell import command_line
from gesscale.kubernetes.resource.crd import definition
from testbed.cluster.commands import retry, run
from testbed.kubernetes.tools import CONFIG

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
    retry(lambda: kubectl("get", "streamautoscalers", "--all-namespaces"), _SERVED_WITHIN_S)


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


#: With these Spark needs no permissions on ConfigMaps, Services or volumes, which `driver_account` does not grant.
FEW_RIGHTS_SETTINGS = {
    "spark.kubernetes.executor.disableConfigMap": "true",
    "spark.kubernetes.driver.service.deleteOnTermination": "false",
    "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
    "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
}


def driver_account(autoscaler: str, account: str) -> str:
    """Return a ServiceAccount, its Role and the binding, as JSON that kubectl creates in a namespace."""
    manifest = (CONFIG / "driver_account.yaml").read_text()
    return json.dumps(yaml.safe_load(manifest.replace("ACCOUNT", account).replace("AUTOSCALER", autoscaler)))
