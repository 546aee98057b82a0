"""Lists of pairs: a table with a heading that has two ends and a delay, or three columns without a heading.

A pair may have many rows, such as in the tables of pings that WonderNetwork publishes.
"""

from collections.abc import Iterable, Iterator

from gesscale.common.text import shortened
from latency_map.formats.columns import find_columns
from latency_map.formats.rows import RowReader
from latency_map.formats.samples import DelaySample, Readings
from latency_map.formats.sheet import Sheet, SheetRow, is_number_or_missing, place_of
from latency_map.formats.source import ImportOptions, MapSource


def read_pairs(source: MapSource, options: ImportOptions) -> Readings:
    """Read a list of pairs.

    Raises
    ------
    LatencyMapError
        The list is invalid.
    """
    sheet = Sheet(source)
    first = sheet.head[0]
    chosen = options.from_column, options.to_column, options.delay_column, options.unit_column
    is_headed = any(chosen) or not is_without_heading(first.cells)
    labels = first.cells if is_headed else ["from", "to", "delay"]
    reader = RowReader(source.name, labels, find_columns(source.name, labels, options))
    delay = reader.columns.delay
    stated_at = f"{place_of(first, delay)}, heading {shortened(labels[delay])}"
    readings = Readings(samples=(), unit=reader.unit, kind=reader.kind, stated_at=stated_at)
    readings.samples = _samples(sheet, reader, readings, sheet.rows(int(is_headed)))
    return readings


def is_without_heading(cells: list[str]) -> bool:
    """Return whether a row is the first one of a list of pairs without heading."""
    return len(cells) == 3 and is_number_or_missing(cells[2]) and not cells[2].isalpha()


def _samples(sheet: Sheet, reader: RowReader, readings: Readings, rows: Iterable[SheetRow]) -> Iterator[DelaySample]:
    """Yield the samples of rows; add the notes to the readings at the end."""
    width, columns = len(reader.labels), reader.columns
    source, target = columns.source, columns.target
    for row in rows:
        cells = row.cells
        if len(cells) != width:
            sheet.check_width(row, width)
        if cells[target] == reader.labels[target] and cells[columns.delay][:1].isalpha():
            raise sheet.cell_error(row, source, "map-tables-several")
        for at in (columns.delay, *columns.losses):
            cells[at] = sheet.with_point(row, at)
        yield reader.sample(cells[source], cells[target], cells, place_of(row, columns.delay))
    readings.notes += reader.notes() + sheet.notes()
