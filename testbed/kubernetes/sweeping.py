"""Taking a Kubernetes down so that nothing stays behind."""

from dataclasses import dataclass

from testbed.cluster import lifecycle
from testbed.kubernetes import control_groups


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesSwept:
    """What was found of a cluster and removed."""

    processes: int
    network_parts: int
    control_groups: int


def down(name: str) -> KubernetesSwept:
    """Take a Kubernetes and its namespaces down, also what is left of one that crashed; nothing is no error.

    Raises
    ------
    ClusterError
        Where something cannot be removed.
    """
    swept = lifecycle.down(name)
    return KubernetesSwept(
        processes=swept.processes,
        network_parts=swept.network_parts,
        control_groups=control_groups.remove(name),
    )
