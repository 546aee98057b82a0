"""Placements with what they promise."""

from dataclasses import dataclass

from perfmodel import Estimate


@dataclass(frozen=True, slots=True)
class SizedPlacement:
    """A placement and its predicted capacity.

    Attributes
    ----------
    placement
        The nodes that would hold the replicas, sorted.
    nd_max_ms
        NDmax with the driver's node, round trip; None where the latency map does not know it.
    mst
        Predicted MST, rows/s; None without a model.
    """

    placement: tuple[str, ...]
    nd_max_ms: float | None
    mst: Estimate | None

    def __str__(self) -> str:
        delay = "NDmax unknown" if self.nd_max_ms is None else f"NDmax {self.nd_max_ms:.0f} ms"
        if self.mst is None:
            return delay
        return f"{delay}, MST {self.mst.mid:.0f} ({self.mst.low:.0f} to {self.mst.high:.0f}) rows/s"

    def sustains(self, rows_per_s: float) -> bool:
        """Whether even the low end of its MST covers a rate (scale-down never trusts the middle)."""
        return self.mst is not None and self.mst.low >= rows_per_s
