"""The account of a Spark driver with gesscale.spark, and the settings of Spark by which so few rights are enough."""

import json

from gesscale.kubernetes.resource.autoscaler import GROUP

FEW_RIGHTS_SETTINGS = {
    "spark.kubernetes.executor.disableConfigMap": "true",
    "spark.kubernetes.driver.service.deleteOnTermination": "false",
    "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
    "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
}
"""With these Spark asks for no ConfigMap, Service or volume, which `driver_account` does not give."""


def driver_account(autoscaler: str, account: str) -> str:
    """Return a ServiceAccount, its Role and the binding, as JSON that kubectl creates in a namespace.

    Parameters
    ----------
    autoscaler
        The only StreamAutoscaler that the driver may read.
    account
        The ServiceAccount, whose name the Role takes too.
    """
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
