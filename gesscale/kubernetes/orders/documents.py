"""StreamAutoscalers as they were seen last: by the watch, or in the answer to a write of our own.

The watch lags behind: who computed a status from it alone would undo what was written a moment before.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from gesscale.errors import ClusterError
from gesscale.kubernetes.api import ApiError, Connection
from gesscale.kubernetes.api.resources import STREAM_AUTOSCALERS
from gesscale.kubernetes.resource.groups import group_of, text_of
from gesscale.kubernetes.resource.translate import Key

Document = Mapping[str, Any]
_TRIES = 3
_MOST_DIGITS = 100


class Documents:
    """Reads and writes the statuses of StreamAutoscalers; for any number of threads.

    Parameters
    ----------
    requests
        The API server.
    watched
        Returns what the watch holds, by ``namespace/name``.
    """

    def __init__(self, requests: Connection, watched: Callable[[], Mapping[str, Document]]) -> None:
        self._requests, self._watched = requests, watched
        self._lock = threading.Lock()
        self._written: dict[Key, Document] = {}

    def newest(self, resource: Key) -> Document | None:
        """Return a resource as it was seen or written last; None where it is gone."""
        watched = self._watched().get("/".join(resource))
        with self._lock:
            written = self._written.get(resource)
            if written is None:
                return watched
            if (
                watched is not None
                and _uid(watched) == _uid(written)
                and _version(watched) < _version(written)
            ):
                return written
            del self._written[resource]  # the watch has caught up
        return watched

    def change_status(
        self,
        resource: Key,
        patch_of: Callable[[Document], Mapping[str, Any] | None],
        *,
        rehearse: bool = False,
    ) -> None:
        """Change a status over the very version that the change was made for.

        Parameters
        ----------
        resource
            Namespace and name.
        patch_of
            Returns the merge patch for a document, None for no change. Asked again, of the newest document, where
            somebody else was first; what it raises ends the attempt.
        rehearse
            Let the API server check it and keep nothing.

        Raises
        ------
        ClusterError
            Where the resource is gone or the API server refuses.
        """
        namespace, name = resource
        document = self.newest(resource)
        for tries_left in reversed(range(_TRIES)):
            if document is None:
                message = f"streamautoscaler {'/'.join(resource)} does not exist any more"
                raise ClusterError(message)
            status = patch_of(document)
            if not status:
                return
            body = {
                "metadata": {"resourceVersion": document["metadata"]["resourceVersion"]},
                "status": dict(status),
            }
            try:
                answer = self._requests.patch(
                    STREAM_AUTOSCALERS,
                    name,
                    body,
                    namespace=namespace,
                    subresource="status",
                    dry_run=rehearse,
                )
            except ApiError as fault:
                if not fault.conflict or not tries_left:
                    raise
                document = self._read_again(resource)
            else:
                if not rehearse:
                    self._keep(resource, answer)
                return

    def _keep(self, resource: Key, document: Document) -> None:
        watched = self._watched()
        with self._lock:
            self._written = {key: each for key, each in self._written.items() if "/".join(key) in watched}
            known = self._written.get(resource)
            if known is None or _uid(known) != _uid(document) or _version(known) < _version(document):
                self._written[resource] = document

    def _read_again(self, resource: Key) -> Document | None:
        """Read a resource by a list of one: the right to list all is had for the watch, to get is another."""
        namespace, name = resource
        pages = self._requests.pages(
            STREAM_AUTOSCALERS, namespace=namespace, field_selector=f"metadata.name={name}"
        )
        return next((item for page in pages for item in page.get("items") or ()), None)


def _uid(document: Document) -> str:
    return text_of(group_of(document, "metadata"), "uid")


def _version(document: Document) -> int:
    """Return a resourceVersion as a number, by which two versions of one object compare (KEP-5504)."""
    text = text_of(group_of(document, "metadata"), "resourceVersion")
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else -1
