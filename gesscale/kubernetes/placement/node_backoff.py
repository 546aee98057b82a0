"""Executors that were ordered and do not come: after a while their node counts as unfit, for a longer while.

Some nodes look well, but no executor starts on them: an image cannot be pulled, a port is in use, the driver cannot be
reached. Without this, such a node would be the best candidate for ever.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from gesscale.kubernetes.placement.pods import PodRecord
from gesscale.words import in_words

BACKOFF_FACTOR = 3.0
"""So many times as long as it was waited for, a node is left alone."""


@dataclass(slots=True)
class NodeBackoff:
    """Of one operator.

    Attributes
    ----------
    wait_s
        How long an executor may take to become ready, seconds.
    """

    wait_s: float = 60.0
    _since_s: dict[str, float] = field(default_factory=dict, init=False)
    _refused: dict[str, tuple[float, str]] = field(default_factory=dict, init=False)

    def judge(self, executors: Iterable[PodRecord], awaited: Collection[str], now_s: float) -> dict[str, str]:
        """Return the nodes that are left alone, with the reason in a sentence.

        Parameters
        ----------
        executors
            The pods that there are.
        awaited
            The nodes on which an executor is ordered.
        now_s
            By a clock that never jumps.
        """
        pods = tuple(pod for pod in executors if not pod.leaving)
        ready = {pod.node for pod in pods if pod.ready}
        missing = {*awaited, *(pod.node for pod in pods if pod.node)} - ready
        self._since_s = {node: self._since_s.get(node, now_s) for node in missing}
        for node, since_s in self._since_s.items():
            if now_s - since_s >= self.wait_s and node not in self._refused:
                self._refused[node] = (now_s + BACKOFF_FACTOR * self.wait_s, self._sentence(node, pods))
        self._refused = {
            node: refusal
            for node, refusal in self._refused.items()
            if now_s < refusal[0] and node not in ready
        }
        return {node: problem for node, (_, problem) in self._refused.items()}

    def _sentence(self, node: str, pods: Iterable[PodRecord]) -> str:
        waiting = [pod for pod in pods if not pod.ready]
        blamed = next((pod for pod in waiting if pod.node == node), None) or next(
            (pod for pod in waiting if not pod.node), None
        )
        why = f": {blamed.problem or blamed.phase}" if blamed is not None else ": its pod was never created"
        return f"no executor became ready there within {in_words(self.wait_s)}{why}"
