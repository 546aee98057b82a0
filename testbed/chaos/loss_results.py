"""Records of lost nodes, the times that follow from batches, and the table of a campaign."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from pydantic import TypeAdapter

from gesscale.model.observation import Batch
from testbed.live.node_losses import NodeLoss
from testbed.live.report import ReportTable

#: All replicas should work again within this time.
GOAL_S = 60.0
RECORDS, REPORT = "losses.jsonl", "losses.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRecord:
    """A loss and what followed; times are seconds since the loss, None if it did not happen."""

    loss: NodeLoss
    nodes: tuple[str, ...]
    #: Seconds since the epoch.
    at_s: float
    #: When Kubernetes reported a node as not ready.
    not_ready_s: float | None
    #: When the controller published its first event about the loss.
    noticed_s: float | None
    #: When an order without the nodes was written.
    ordered_s: float | None
    #: End of the first batch with all replicas on other nodes.
    full_rate_s: float | None
    #: End of the first batch after that which left less than a trigger interval of rows.
    caught_up_s: float | None
    #: Longest time without a finished batch.
    longest_gap_s: float
    #: Whether at last as many replicas worked as the load needs, on the ordered nodes.
    recovered: bool
    #: Rows of this run of the query so far: committed, missing in the sink, duplicated in it.
    rows: int
    rows_lost: int
    rows_duplicated: int

    @property
    def kept(self) -> bool:
        """Whether the query recovered and each row is there once."""
        return self.recovered and self.full_rate_s is not None and not (self.rows_lost or self.rows_duplicated)


def first_end_s(batches: Iterable[Batch], holds: Callable[[Batch], bool]) -> float | None:
    """Return when the first batch ended for which something holds."""
    return next((each.ended_at_s for each in batches if holds(each)), None)


def longest_gap_s(batches: Iterable[Batch], from_s: float, to_s: float) -> float:
    """Return the longest time without a finished batch between two moments."""
    ends = [from_s, *(each.ended_at_s for each in batches if from_s < each.ended_at_s < to_s), to_s]
    return max(after - before for before, after in pairwise(ends))


_RECORD = TypeAdapter(LossRecord)


def read_losses(folder: Path) -> tuple[LossRecord, ...]:
    """Read the records of a folder."""
    file = folder / RECORDS
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return tuple(map(_RECORD.validate_json, lines))


def add_loss(record: LossRecord, folder: Path) -> None:
    """Append a record to those of a folder."""
    with (folder / RECORDS).open("a", encoding="utf-8") as file:
        file.write(_RECORD.dump_json(record).decode() + "\n")


_TIMES = {
    "not ready": "not_ready_s",
    "noticed": "noticed_s",
    "new order": "ordered_s",
    "full rate": "full_rate_s",
    "caught up": "caught_up_s",
    "longest gap": "longest_gap_s",
}
_GOAL = f"full in {GOAL_S:g} s"


def losses_table(records: Sequence[LossRecord]) -> ReportTable:
    """Return the table of a campaign: a row for each kind of loss, with median and longest of each time, seconds."""
    rows = [_row(loss, kind) for loss in NodeLoss if (kind := [each for each in records if each.loss is loss])]
    return ReportTable("Lost nodes", tuple(rows[0]) if rows else (), [tuple(row.values()) for row in rows])


def _row(loss: NodeLoss, records: Sequence[LossRecord]) -> Mapping[str, str]:
    return {
        "loss": loss.value,
        "n": str(len(records)),
        **{name: _spread([getattr(each, key) for each in records]) for name, key in _TIMES.items()},
        _GOAL: str(sum(each.full_rate_s is not None and each.full_rate_s <= GOAL_S for each in records)),
        "starved": str(sum(not each.recovered for each in records)),
        "lost, doubled rows": f"{max(each.rows_lost for each in records)}, "
        f"{max(each.rows_duplicated for each in records)}",
    }


def _spread(values: Sequence[float | None]) -> str:
    found = [each for each in values if each is not None]
    if not found:
        return "–"
    text = f"{median(found):.1f}, {max(found):.1f}"
    return text if len(found) == len(values) else f"{text} ({len(found)} of {len(values)})"
