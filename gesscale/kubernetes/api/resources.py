"""Kinds of API objects that gesscale reads and writes, and their paths."""

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A kind of API object."""

    #: Such as ``coordination.k8s.io``; empty for the core group.
    group: str = ""
    #: Such as ``v1``, ``leases`` and ``Lease`` (version, plural, kind).
    version: str = "v1"
    plural: str
    kind: str
    #: Whether its objects belong to namespaces.
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """Group and version as objects state them.

        Examples
        --------
        >>> PODS.api_version, LEASES.api_version
        ('v1', 'coordination.k8s.io/v1')
        """
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, *, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """Return the path of a collection, an object or a part of it.

        Parameters
        ----------
        namespace
            None for all namespaces, and for kinds without namespaces.

        Examples
        --------
        >>> PODS.path()
        '/api/v1/pods'
        >>> STREAM_AUTOSCALERS.path(namespace="streams", name="taxi", subresource="status")
        '/apis/gesscale.dev/v1alpha1/namespaces/streams/streamautoscalers/taxi/status'
        """
        parts = ["apis" if self.group else "api", self.api_version]
        if namespace is not None and self.namespaced:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        parts += [quote(part, safe="") for part in (name, subresource) if part]
        return "/" + "/".join(parts)


NODES = Resource(plural="nodes", kind="Node", namespaced=False)
PODS = Resource(plural="pods", kind="Pod")
CONFIG_MAPS = Resource(plural="configmaps", kind="ConfigMap")
LEASES = Resource(group="coordination.k8s.io", plural="leases", kind="Lease")
EVENTS = Resource(plural="events", kind="Event")
STREAM_AUTOSCALERS = Resource(
    group="gesscale.dev", version="v1alpha1", plural="streamautoscalers", kind="StreamAutoscaler"
)
SUBJECT_REVIEWS = Resource(
    group="authorization.k8s.io", plural="subjectaccessreviews", kind="SubjectAccessReview", namespaced=False
)
