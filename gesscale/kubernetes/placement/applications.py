"""One operator's Spark application as its pods show it: the driver, and the executors by node."""

from dataclasses import dataclass

from gesscale.kubernetes.placement.cluster_index import ClusterIndex
from gesscale.kubernetes.placement.pods import PodRecord
from gesscale.kubernetes.placement.room import selects
from gesscale.kubernetes.resource.autoscaler import AUTOSCALER_LABEL, StreamAutoscaler
from gesscale.kubernetes.resource.translate import DriverPlace, driver_selector, outside_driver

APPLICATION_LABEL = "spark-app-selector"
"""Spark's own label of a driver and its executors."""
_EXECUTOR = {"spark-role": "executor"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """What runs of one operator.

    Attributes
    ----------
    driver
        The driver's pod; None where it is outside the cluster or not found.
    place
        Where the driver is; None where it does not run.
    executors
        Its executors' pods that have not ended, by name; those that wait for a node are among them.
    problem
        Why there is no place; empty where there is one.
    """

    driver: PodRecord | None = None
    place: DriverPlace | None = None
    executors: tuple[PodRecord, ...] = ()
    problem: str = ""

    @property
    def placement(self) -> tuple[str, ...]:
        """The nodes that hold an executor, sorted; one that was asked to end does not count."""
        return tuple(sorted({pod.node for pod in self.executors if pod.node and not pod.leaving}))


def find_application(resource: StreamAutoscaler, index: ClusterIndex) -> Application:
    """Find an operator's application among the pods.

    Parameters
    ----------
    resource
        The operator.
    index
        With the pods of all namespaces.

    Returns
    -------
    Application
        Executors are those that bear the driver's application label or, where there is none, the resource's name.
    """
    outside = outside_driver(resource)
    if outside is not None:
        return Application(place=outside, executors=_executors(resource, index, None))
    selector = driver_selector(resource)
    labelled = index.pods_of(resource.namespace, selector.match_labels)
    drivers = [pod for pod in labelled if not pod.over and not pod.leaving and selects(selector, pod.labels)]
    if len(drivers) != 1:
        wanted = ", ".join(f"{key}={value}" for key, value in selector.match_labels.items())
        found = ", ".join(pod.name for pod in drivers) or "none"
        problem = f"expected one driver pod with labels {wanted or 'of the selector'}, found {found}"
        return Application(executors=_executors(resource, index, None), problem=problem)
    (driver,) = drivers
    executors = _executors(resource, index, driver)
    if driver.phase != "Running" or not driver.ip:
        problem = (
            f"the driver pod {driver.name} is {driver.phase}{': ' if driver.problem else ''}{driver.problem}"
        )
        return Application(driver=driver, executors=executors, problem=problem)
    address = f"[{driver.ip}]" if ":" in driver.ip else driver.ip
    place = DriverPlace(node=driver.node, metrics_url=f"http://{address}:{resource.spec.driver.port}")
    return Application(driver=driver, place=place, executors=executors)


def _executors(
    resource: StreamAutoscaler, index: ClusterIndex, driver: PodRecord | None
) -> tuple[PodRecord, ...]:
    application = driver.labels.get(APPLICATION_LABEL) if driver is not None else None
    key, value = (APPLICATION_LABEL, application) if application else (AUTOSCALER_LABEL, resource.name)
    pods = index.pods_of(resource.namespace, {key: value})
    found = (pod for pod in pods if not pod.over and _EXECUTOR.items() <= pod.labels.items())
    return tuple(sorted(found, key=lambda pod: pod.name))
