"""The shell around the Kubernetes API: connection, caches, leadership, events and faults.

The third-party package ``kubernetes`` is imported below this package only (and in the driver-side part). Objects are
the plain mappings that the API sends as JSON: its typed models cost ten times the memory, which a Pi does not have.
"""

from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.credentials import connect
from gesscale.kubernetes.api.events import Events, EventType, Incident
from gesscale.kubernetes.api.faults import ApiError, Call
from gesscale.kubernetes.api.lease import ElectionTimes, Elector, LeaseLock, new_identity
from gesscale.kubernetes.api.resources import Resource
from gesscale.kubernetes.api.watching import Cache, View

__all__ = [
    "ApiError",
    "Cache",
    "Call",
    "Connection",
    "ElectionTimes",
    "Elector",
    "EventType",
    "Events",
    "Incident",
    "LeaseLock",
    "Resource",
    "View",
    "connect",
    "new_identity",
]
