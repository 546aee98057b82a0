"""CSV tables: rows with their lines, and errors with line and column."""

from pathlib import Path

import pytest
from pydantic import BaseModel, Field
from refusals import refused

from gesscale.csv_table import read_csv
from gesscale.errors import InputError


class Load(BaseModel):
    t_s: float = Field(description="a time in seconds")
    rows: int = Field(ge=0, description="rows")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "load.csv"


def test_rows_have_the_lines_on_which_they_end(file: Path) -> None:
    # Line 2 and 4 are blank, and the cell in quotes goes on to line 6.
    file.write_text('\ufefft_s, rows ,note\n\n0, 5 ,\n\n1,6,"two\nlines"\n')
    table = read_csv(file, ("t_s", "rows"))
    assert (table.line, table.columns) == (1, ("t_s", "rows", "note"))
    rows = list(table.rows)
    assert [(row.line, row.cells["note"]) for row in rows] == [(3, ""), (6, "two\nlines")]
    assert [row.read_as(Load) for row in rows] == [Load(t_s=0, rows=5), Load(t_s=1, rows=6)]


@pytest.mark.parametrize(
    ("content", "code", "fields"),
    [
        (b"", "csv-empty", {}),
        (b"t_s,row\n", "csv-column-missing", {"place": "line 1", "column": "rows", "got": ("t_s", "row")}),
        (b"\nt_s,rows,rows\n", "csv-column-repeated", {"place": "line 2", "column": "rows"}),
        (b"t_s,rows\n0,1\n\n1\n", "csv-cells-mismatch", {"place": "line 4", "expected": 2, "got": 1}),
        (b't_s,rows\n0,"1"x\n', "csv-malformed", {"place": "line 2"}),
        (b"t_s,rows\n0,\xff\n", "csv-not-utf8", {"place": "line 2", "byte": 0xFF}),
        (b"t_s,rows\n\n0,-1\n", "csv-cell-invalid", {"place": "line 3, column rows", "got": "-1"}),
    ],
)
def test_what_is_wrong_is_named_with_its_line(file: Path, content: bytes, code: str, fields: dict[str, object]) -> None:
    file.write_bytes(content)
    with refused(code, InputError, source=file, **fields):
        [row.read_as(Load) for row in read_csv(file, ("t_s", "rows")).rows]


def test_a_file_that_is_too_large_or_not_there_is_refused(file: Path) -> None:
    with refused("csv-unreadable", InputError, source=file):
        read_csv(file, ())
    file.write_bytes(b"rows\n" + b"1\n" * 2**19)  # 5 bytes more than 1 MiB
    with refused("csv-too-large", InputError, max_mib=1):
        read_csv(file, (), max_bytes=2**20)
