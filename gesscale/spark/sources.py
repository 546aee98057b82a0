"""The rows that a query's sources have offered and still hold back, kept from batch to batch. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gesscale.spark.offsets import OffsetRows, SourceKind, kind_of, parsed

_ADVICE = "rows offered and backlog are unknown (null), and nothing is scaled by them"
_OR_GIVE = "Give attach offset_rows=, which turns an offset into rows"
_WHY_UNTOLD = {
    "files": "files do not say how many rows they hold",
    "rate-micro-batch": "it makes its rows batch by batch, so that none wait",
}


@dataclass(frozen=True, slots=True)
class Position:
    """Rows of the sources as a batch was planned.

    Attributes
    ----------
    offered
        Offered since the query began.
    backlog
        Offered, and not taken by this batch either.
    """

    offered: float
    backlog: float


@dataclass(slots=True)
class Source:
    """One source of one run of a query.

    A batch that read more rows than its offsets count leaves it unknown for that batch. Where that is so before any
    batch has agreed, and the kind of source is uncertain, it stays unknown.

    Attributes
    ----------
    label
        How it is called in messages.
    offset_rows
        Counts the rows of its offsets; None: as the table of `gesscale.spark.offsets` says.
    problem
        Why its rows are unknown; empty where they are not.
    """

    label: str
    offset_rows: OffsetRows | None
    problem: str = ""
    _is_confirmed: bool = False
    _contradiction: str = ""
    _began_at: float | None = None

    def position(self, report: Mapping[str, Any], rows: int) -> Position | None:
        """Return where it stands.

        Parameters
        ----------
        report
            Of this source, from the progress report of a batch.
        rows
            How many of its rows the batch read.
        """
        start, end, latest = (
            parsed(report.get(name)) for name in ("startOffset", "endOffset", "latestOffset")
        )
        description = str(report.get("description") or "")
        kind = kind_of(end, description) if self.offset_rows is None else None
        told = [self._count(offset, description, kind) for offset in (start, end, latest)]
        start_rows, end_rows, latest_rows = told
        if end_rows is not None and not self._agrees(start_rows, end_rows, rows, kind):
            self.problem = self._contradiction
            return None
        if end_rows is not None and self._began_at is None:
            self._began_at = end_rows - rows if start_rows is None else start_rows
        self.problem = self._why_unknown(kind, end) if end_rows is None or latest_rows is None else ""
        if end_rows is None or latest_rows is None or self._began_at is None:
            return None
        if kind is not None and not (kind.is_certain or self._is_confirmed):
            return None
        return Position(
            offered=max(0.0, latest_rows - self._began_at), backlog=max(0.0, latest_rows - end_rows)
        )

    def _count(self, offset: object, description: str, kind: SourceKind | None) -> float | None:
        if offset is None:
            return None
        if self.offset_rows is not None:
            return self.offset_rows(json.dumps(offset))
        return kind.rows(offset, description) if kind is not None else None

    def _agrees(self, start: float | None, end: float, rows: int, kind: SourceKind | None) -> bool:
        """Compare the rows that were read with those that the offsets count; a contradiction is remembered."""
        if start is None:
            return True
        is_certain = kind is None or kind.is_certain
        if self._contradiction and not (is_certain or self._is_confirmed):
            return False
        counted = end - start
        if counted < rows or (counted > rows and not is_certain):
            self._contradiction = self._contradiction or (
                f"{self.label}: a batch read {rows} rows between offsets that count {counted:.0f}: the offsets count "
                f"something else, the query reads its rows more than once, or tasks ran again; {_ADVICE}. {_OR_GIVE}"
            )
            return False
        self._is_confirmed = self._is_confirmed or rows > 0
        return True

    def _why_unknown(self, kind: SourceKind | None, end: object) -> str:
        if self.offset_rows is not None:
            why = f"offset_rows tells no rows of its latest offset, or of {json.dumps(end)[:80]}"
        elif kind is None:
            why = f"its offset {json.dumps(end)[:80]} is of no known kind"
        else:
            why = _WHY_UNTOLD.get(kind.name, "it reports no latest offset")
        return f"{self.label}: {why}; {_ADVICE}. {_OR_GIVE}"


@dataclass(slots=True)
class Sources:
    """All sources of one run of a query.

    Attributes
    ----------
    offset_rows
        Counts the rows of an offset; None: as the table of `gesscale.spark.offsets` says.
    """

    offset_rows: OffsetRows | None = None
    _known: list[Source] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """Why rows are unknown, source by source; empty where they are not."""
        return [source.problem for source in self._known if source.problem]

    def position(self, reports: Sequence[Mapping[str, Any]], rows: int) -> Position | None:
        """Return where all of them stand together; None where one does not tell.

        Parameters
        ----------
        reports
            The part ``sources`` of the progress report of a batch.
        rows
            How many rows the batch read in all.
        """
        if len(self._known) != len(reports):
            self._known = [
                Source(_label(number, report, len(reports)), self.offset_rows)
                for number, report in enumerate(reports, 1)
            ]
        stands = [
            source.position(report, int(report.get("numInputRows", rows)))
            for source, report in zip(self._known, reports, strict=True)
        ]
        told = [each for each in stands if each is not None]
        if not told or len(told) < len(stands):
            return None
        return Position(
            offered=sum(each.offered for each in told), backlog=sum(each.backlog for each in told)
        )


def _label(number: int, report: Mapping[str, Any], count: int) -> str:
    name = str(report.get("description") or "").partition("@")[0].rpartition(".python.")[2][:120]
    which = "the source" if count == 1 else f"source {number} of {count}"
    return f"{which} {name}".strip()
