"""What single replicas did in a window, from what each did in its batches."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gesscale.batch_record import HostWork
from gesscale.model.observation import Batch, NodeReading


@dataclass(frozen=True, slots=True)
class WorkByNode:
    """Tells what single replicas did; a `gesscale.monitor.window.ByNode`.

    Attributes
    ----------
    work
        By the instant at which a batch ended, by node. A batch that does not tell is missing.
    """

    work: Mapping[float, Mapping[str, HostWork]] = field(default_factory=dict)

    def __call__(
        self, batches: Sequence[Batch], placement: Sequence[str], seconds: float
    ) -> Mapping[str, NodeReading]:
        """Return the figures of each replica of a placement.

        Parameters
        ----------
        batches
            Those of the window.
        placement
            The nodes of the replicas; one that did nothing has zeros.
        seconds
            The time that the batches stand for.

        Returns
        -------
        mapping of str to NodeReading
            Empty unless every batch of the window tells.
        """
        known = [self.work[batch.ended_at_s] for batch in batches if batch.ended_at_s in self.work]
        if not self.work or len(known) < len(batches):
            return {}
        newest = known[-1] if known else {}
        has_state = any(work.state_partitions is not None for work in newest.values())
        return {
            node: _reading(
                (work[node] for work in known if node in work),
                seconds,
                (newest[node].state_partitions if node in newest else 0) if has_state else None,
            )
            for node in placement
        }


def _reading(work: Iterable[HostWork], seconds: float, state_partitions: int | None) -> NodeReading:
    rows = busy_s = 0.0
    for each in work:
        rows += each.rows
        busy_s += each.busy_s
    return NodeReading(
        throughput_rows_per_s=rows / seconds,
        cpu_share=min(1.0, busy_s / seconds),
        state_partitions=state_partitions,
    )
