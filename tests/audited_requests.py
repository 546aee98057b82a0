"""The audit log of the API server: requests by account, and whether they were allowed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from testbed.kubernetes.control_plane import Files

_DECISION, _REASON = "authorization.k8s.io/decision", "authorization.k8s.io/reason"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedRequest:
    """One request in the terms of a role."""

    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    allowed: bool
    by: str

    @property
    def target(self) -> str:
        """The resource in the terms of a role, such as ``streamautoscalers/status``."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def requests_of(files: Files, namespace: str, account: str) -> frozenset[AuditedRequest]:
    """Return the requests of a service account so far."""
    return frozenset(_requests(files, f"system:serviceaccount:{namespace}:{account}"))


def _requests(files: Files, user: str) -> Iterator[AuditedRequest]:
    with files.audit_log.open(encoding="utf-8") as lines:
        for line in lines:
            if not line.endswith("\n"):
                return  # it is being written
            event: dict[str, Any] = json.loads(line)
            if event["user"].get("username") == user and "objectRef" in event:
                yield _request(event)


def _request(event: dict[str, Any]) -> AuditedRequest:
    named, decided = event["objectRef"], event.get("annotations") or {}
    return AuditedRequest(
        verb=event["verb"],
        group=named.get("apiGroup", ""),
        resource=named["resource"],
        subresource=named.get("subresource", ""),
        namespace=named.get("namespace", ""),
        name=named.get("name", ""),
        allowed=decided.get(_DECISION) == "allow",
        by=decided.get(_REASON, ""),
    )
