"""Lists of pairs: a table with a heading that has two ends and a delay, or three columns without a heading.

A pair may have many rows, such as in the tables of pings that WonderNetwork publishes.
"""

from collections.abc import Iterator

from gesscale.common.text import shortened
from latency_map.formats.columns import Columns, find_columns
from latency_map.formats.rows import RowReader
from latency_map.formats.samples import DelaySample, Readings
from latency_map.formats.sheet import Sheet, SheetRow, is_number_or_missing, place_of
from latency_map.formats.source import ImportOptions, MapSource

_WIDTH = 3
_WITHOUT_HEADING = Columns(source=0, target=1, delay=2)


def read_pairs(source: MapSource, options: ImportOptions) -> Readings:
    """Read a list of pairs.

    Raises
    ------
    LatencyMapError
        The list is invalid.
    """
    sheet = Sheet(source)
    first = sheet.first()
    chosen = options.from_column, options.to_column, options.delay_column, options.unit_column
    if is_without_heading(first.cells) and not any(chosen):
        rows = RowReader(source.name, ("from", "to", "delay"), _WITHOUT_HEADING)
        readings = Readings(samples=())
        readings.samples = _samples(sheet, rows, readings, first, first)
        return readings
    columns = find_columns(source.name, first.cells, options)
    rows = RowReader(source.name, first.cells, columns)
    stated_at = f"{place_of(first, columns.delay)}, heading {shortened(first.cells[columns.delay])}"
    readings = Readings(samples=(), unit=rows.unit, kind=rows.kind, stated_at=stated_at)
    readings.samples = _samples(sheet, rows, readings, first, None)
    return readings


def is_without_heading(cells: list[str]) -> bool:
    """Return whether a row is the first one of a list of pairs without heading."""
    return len(cells) == _WIDTH and is_number_or_missing(cells[2]) and not cells[2].isalpha()


def _samples(
    sheet: Sheet, rows: RowReader, readings: Readings, first: SheetRow, pending: SheetRow | None
) -> Iterator[DelaySample]:
    """Yield the samples of rows, the pending one first; add the notes to the readings at the end."""
    width, columns = len(first.cells), rows.columns
    source, target = columns.source, columns.target
    numeric = (columns.delay, *columns.losses)
    if pending is not None:
        yield rows.sample(pending.cells[0], pending.cells[1], pending.cells, place_of(pending, columns.delay))
    for row in sheet.rows():
        cells = row.cells
        if len(cells) != width:
            sheet.check_width(row, width)
        for at in numeric:
            cells[at] = sheet.with_point(row, at)
        yield rows.sample(cells[source], cells[target], cells, place_of(row, columns.delay))
    readings.notes += rows.notes() + sheet.notes()
