"""What each cell of a knowledge file may hold: a disk, or a hand, can write anything there.

Documents are checked as far as `gesscale.cli.explain` shows them; a figure that was not known is null.
"""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Json, ValidationError

from gesscale.fields import LARGEST_EXACT, EpochSeconds
from gesscale.model.order import Order
from gesscale.wire import MOST_REPLICAS
from gesscale.words import first_fault
from perfmodel import ModelError, Reading

MOST_CELL_BYTES = 8 << 20
"""Of one cell; a decision with thousands of rejected nodes takes less than a quarter."""

MOST_ROWS = 500_000
"""Of readings, and of orders, since all of them are recalled in each step."""

_Figure = Annotated[float, Field(ge=-1e300, le=1e300)] | None
_Name = Annotated[str, Field(min_length=1)]


class CellError(Exception):
    """A cell holds what cannot be; the message says which, and what."""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", allow_inf_nan=False)


class _Estimate(_Part):
    low: _Figure
    mid: _Figure
    high: _Figure
    reason: str


class _Model(_Part):
    law: str
    parameters: dict[str, _Figure]
    fitted: list[str]
    readings_used: Annotated[int, Field(ge=0, le=LARGEST_EXACT)]
    calibrated: bool
    drift: bool
    warnings: list[str]


class _OperatorReading(_Part):
    placement: list[str]
    input_rows_per_s: _Figure
    throughput_rows_per_s: _Figure
    backlog_rows: _Figure
    saturated_share: _Figure


class _Analysis(_Part):
    verdict: str
    reason: str
    detail: str
    reading: _OperatorReading | None
    model: _Model | None
    mst: _Estimate | None
    headroom_pct: _Figure
    nd_max_ms: _Figure


class _Rejection(_Part):
    node: str
    reason: str
    detail: str
    others: Annotated[int, Field(ge=0)] = 0
    other_nodes: list[str] = []


class _Bill(_Part):
    replicas: Annotated[int, Field(ge=1, le=MOST_REPLICAS)]
    moved: Annotated[int, Field(ge=0, le=MOST_REPLICAS)] = 0
    replica_minutes: _Figure
    late_minutes: _Figure
    changes: _Figure
    total: _Figure


class _Plan(_Part):
    placement: list[str]
    mst: _Estimate | None
    nd_max_ms: _Figure
    rejections: list[_Rejection]
    bills: list[_Bill] = []


class _Outcome(_Part):
    status: str
    detail: str
    seconds: _Figure


class _Standing(_Part):
    model_config = ConfigDict(extra="forbid")

    age_s: _Figure = None
    stale: str = ""
    problem: str = ""


class _Decision(_Part):
    at_s: EpochSeconds
    operator: str
    policy: str
    sentence: str
    analysis: _Analysis
    plan: _Plan
    outcome: _Outcome
    latency_map: _Standing = _Standing()


class KnowledgeRow(_Part):
    """A row of a table.

    Attributes
    ----------
    TABLE
        Its name.
    """

    TABLE: ClassVar[str]

    operator: _Name
    at_s: EpochSeconds


class ReadingRow(KnowledgeRow):
    """Evidence for the performance model."""

    TABLE = "reading"

    replicas: Annotated[int, Field(ge=1, le=64 * MOST_REPLICAS)]
    nd_max_ms: float
    rows_per_s: float
    saturated: Literal[0, 1]
    batch_rows: float | None
    tasks: int | None
    weight: float | None

    def reading(self) -> Reading:
        """Return it as a value.

        Raises
        ------
        ModelError
            When a figure is out of its range.
        """
        figures = self.model_dump(exclude={"operator", "saturated"})
        return Reading(**figures, saturated=bool(self.saturated))


class OrderRow(KnowledgeRow, Order):
    """An order."""

    TABLE = "placement_order"

    placement: Json[tuple[_Name, ...]]
    settled_at_s: EpochSeconds | None
    given_up: Annotated[bool, BeforeValidator(lambda cell: {0: False, 1: True}.get(cell, cell))]

    def order(self) -> Order:
        """Return it as a value."""
        return Order(**self.model_dump(exclude={"operator"}))


class MemoRow(KnowledgeRow):
    """The last memo of a policy."""

    TABLE = "memo"

    text: str


class ModelRow(KnowledgeRow):
    """A version of a model."""

    TABLE = "model"

    law: str
    document: Json[_Model]


class DecisionRow(KnowledgeRow):
    """A decision."""

    TABLE = "decision"

    policy: str
    reason: str
    acted: Literal[0, 1]
    document: Json[_Decision]


R = TypeVar("R", bound=KnowledgeRow)


def checked(form: type[R], row: Mapping[str, Any]) -> R:
    """Check a row.

    Parameters
    ----------
    form
        Of its table.
    row
        Its cells by column, with its ``id``.

    Raises
    ------
    CellError
        Where a cell holds what cannot be.
    """
    try:
        found = form.model_validate(row)
        if isinstance(found, ReadingRow):
            found.reading()  # says what its figures may be
    except (ValidationError, ModelError) as error:
        fault = first_fault(error) if isinstance(error, ValidationError) else str(error)
        message = f"table {form.TABLE}, row {row['id']}: {fault}"
        raise CellError(message) from None
    return found


def document_in(form: type[R], row: sqlite3.Row) -> dict[str, Any]:
    """Return the document of a row, all of it.

    Raises
    ------
    CellError
        As `checked`.
    """
    checked(form, dict(row))
    document: dict[str, Any] = json.loads(row["document"])
    return document


def check_cells(connection: sqlite3.Connection) -> None:
    """Check every cell of an open knowledge file.

    Raises
    ------
    CellError
        Where one holds what cannot be, there are too many rows, or something else than tables and their indexes.
    sqlite3.Error
        Where a table or a column is missing.
    """
    (strange,) = connection.execute(
        "SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index')"
    ).fetchone()
    if strange:
        message = f"expected tables and indexes only, got {strange} views or triggers"
        raise CellError(message)
    with closing(connection.cursor()) as cursor:
        cursor.row_factory = sqlite3.Row
        for form in (ReadingRow, OrderRow, MemoRow, ModelRow, DecisionRow):
            is_recalled = form not in {ModelRow, DecisionRow}
            cursor.execute(f"SELECT rowid AS id, * FROM {form.TABLE}")  # noqa: S608 - names of ours
            for count, row in enumerate(cursor, start=1):
                if is_recalled and count > MOST_ROWS:
                    message = f"table {form.TABLE}: expected at most {MOST_ROWS} rows, got more"
                    raise CellError(message)
                checked(form, dict(row))
