"""The pods of one application's executors, with the rights at the API server that Spark's driver has anyway."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gesscale.spark.pod_template import ORDER_ANNOTATION
from gesscale.spark.reconcile import ExecutorPod

if TYPE_CHECKING:
    from gesscale.kubernetes.api.connection import Connection


class AppPods:
    """Lists and deletes executors' pods.

    Parameters
    ----------
    connection
        The API server.
    namespace
        The application's.
    application
        Its id.
    """

    def __init__(self, connection: "Connection", *, namespace: str, application: str) -> None:
        self._connection, self._namespace, self._application = connection, namespace, application

    def list(self) -> list[ExecutorPod]:
        """Return those that are not on their way out.

        Raises
        ------
        ApiError
            Where they cannot be read.
        """
        from gesscale.kubernetes.api.resources import PODS

        pages = self._connection.pages(
            PODS,
            namespace=self._namespace,
            label_selector=f"spark-app-selector={self._application},spark-role=executor",
        )
        pods = [pod for page in pages for pod in page["items"]]
        return [executor_pod(pod) for pod in pods if "deletionTimestamp" not in pod["metadata"]]

    def delete(self, name: str) -> None:
        """Delete one; that it is gone already is as good.

        Raises
        ------
        ApiError
            Where it cannot be deleted.
        """
        from gesscale.kubernetes.api.faults import ApiError
        from gesscale.kubernetes.api.resources import PODS

        try:
            self._connection.delete(PODS, name, namespace=self._namespace)
        except ApiError as fault:
            if not fault.absent:
                raise


def executor_pod(pod: Mapping[str, Any]) -> ExecutorPod:
    """Return what matters of a pod.

    Parameters
    ----------
    pod
        As its JSON says it.
    """
    metadata = pod["metadata"]
    return ExecutorPod(
        name=metadata["name"],
        executor=(metadata.get("labels") or {}).get("spark-exec-id", ""),
        node=(pod.get("spec") or {}).get("nodeName"),
        order=(metadata.get("annotations") or {}).get(ORDER_ANNOTATION, ""),
        waits=(pod.get("status") or {}).get("phase") == "Pending",
    )
