"""Output of commands: data to stdout as a table, JSON or YAML; messages and the log to stderr."""

import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from gesscale.common.errors import Problem
from gesscale.formatting import format_figure

console = Console(soft_wrap=True)
#: For notes to a person; silent with --quiet.
stderr_console = Console(stderr=True, soft_wrap=True, markup=False, highlight=False)
_problem_console = Console(stderr=True, soft_wrap=True, markup=False, highlight=False)


_UNBOUNDED = 100_000
_PROBLEMS_SHOWN = 3
#: Characters; a longer word, such as a path, may be folded.
_MAX_UNBROKEN_CHARACTERS = 32


class Output(StrEnum):
    """Format of a result."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


#: Key of the output format in the context of a command, for error reports.
OUTPUT_KEY = "gesscale.output"


def _keep_output(context: typer.Context, output: Output) -> Output:
    context.meta[OUTPUT_KEY] = output
    return output


OutputOption = Annotated[
    Output, typer.Option("--output", "-o", callback=_keep_output, is_eager=True, help="Format of the result.")
]


def emit(document: object, output: Output, tables: Sequence[Table] = ()) -> None:
    """Write one result to stdout: the document as JSON or YAML, or the tables."""
    if output is Output.JSON:
        typer.echo(json.dumps(_plain(document), indent=2))
    elif output is Output.YAML:
        typer.echo(_yaml(document), nl=False)
    else:
        print_tables(tables, Console(soft_wrap=True, width=room()))


def print_tables(tables: Iterable[Table], shown: Console) -> None:
    """Print tables, each after its title."""
    for table in tables:
        title, table.title = table.title, None
        if title:
            shown.print(title, style="italic", highlight=False, soft_wrap=False)
        shown.print(table)


def room() -> int:
    """Return the width of tables: that of the terminal or of COLUMNS; unlimited in a pipe or a file."""
    return console.width if console.is_terminal or "COLUMNS" in os.environ else _UNBOUNDED


def emit_each(document: object, output: Output) -> None:
    """Write one of many results to stdout: a line of JSON or a YAML document; nothing for a table."""
    if output is Output.JSON:
        typer.echo(json.dumps(_plain(document)))
    elif output is Output.YAML:
        typer.echo(_yaml(document, explicit_start=True), nl=False)


def _plain(document: object) -> object:
    from gesscale.model.document import as_document

    return as_document(document)


def _yaml(document: object, *, explicit_start: bool = False) -> str:
    import yaml

    return str(yaml.safe_dump(_plain(document), sort_keys=False, explicit_start=explicit_start))


def set_quiet(quiet: bool) -> None:
    """Print only warnings and errors on stderr, or everything again."""
    stderr_console.quiet = quiet
    logging.disable(logging.INFO if quiet else logging.NOTSET)


def report_line(text: str) -> None:
    """Write one line to stderr, also with --quiet."""
    kind, colon, rest = text.partition(":")
    _problem_console.print(Text.assemble((kind, "red"), colon, rest))


def report_problems(*problems: Problem, severity: str = "error", as_json: bool = False) -> None:
    """Report problems on stderr, also with --quiet: a line ``error[CODE]: sentence`` for each, or one JSON object."""
    if as_json:
        typer.echo(json.dumps({f"{severity}s": [problem.as_json() for problem in problems]}), err=True)
        return
    for problem in problems:
        report_line(f"{severity}[{problem.code}]: {problem}")


def warn(warnings: Iterable[Problem]) -> None:
    """Print each warning on stderr, also with --quiet."""
    report_problems(*warnings, severity="warning")


def warn_of_omitted_lines(problems: Sequence[Problem]) -> None:
    """Print on stderr which lines of a record could not be used: the first three, and their number."""
    warn(problems[:_PROBLEMS_SHOWN])
    if problems:
        stderr_console.print(f"omitted lines: {len(problems)}")


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Build a table in the house style: numbers flush right, floats with four digits, None as a dash."""
    result = Table(title=escape(title), title_justify="left")
    given = [list(row) for row in rows]
    cells = [[_cell(cell) for cell in row] for row in given]
    texts = list(zip(columns, *cells, strict=True))
    most = [max(cell_len(line) for text in column for line in text.splitlines() or [""]) for column in texts]
    words = [max((cell_len(word) for text in column for word in text.split()), default=1) for column in texts]
    least = [min(longest, _MAX_UNBROKEN_CHARACTERS) for longest in words]
    widths = _fitted(least, most, room() - 3 * len(columns) - 1)
    for index, heading in enumerate(columns):
        numeric = any(isinstance(row[index], int | float) for row in given)
        justify: Literal["left", "right"] = "right" if numeric else "left"
        result.add_column(escape(heading), justify=justify, overflow="fold", width=widths[index])
    for row in cells:
        result.add_row(*row)
    return result


def _fitted(least: Sequence[int], most: Sequence[int], room: int) -> list[int]:
    """Return the widths of columns that fit: short columns whole, the rest shared; words are broken only if they must.

    Examples
    --------
    >>> _fitted([5, 5], [5, 40], 60), _fitted([5, 5], [17, 40], 40), _fitted([5, 30], [5, 40], 20)
    ([5, 40], [17, 23], [5, 15])
    """
    widths = list(least)
    while sum(widths) > max(room, len(widths)):
        widths[widths.index(max(widths))] -= 1
    rest = room - sum(widths)
    for done, index in enumerate(sorted(range(len(widths)), key=most.__getitem__)):
        share = (rest + sum(widths[each] for each in range(len(widths)) if most[each] >= most[index])) // (
            len(widths) - done
        )
        wider = min(most[index], max(widths[index], share), widths[index] + max(0, rest))
        rest, widths[index] = rest - (wider - widths[index]), wider
    return widths


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return format_figure(value) if isinstance(value, float) else escape(str(value))


def rate(rows_per_s: float | None) -> str:
    """Format rows per second; empty for None."""
    return with_unit(rows_per_s, "rows/s")


def with_unit(value: float | None, unit: str) -> str:
    """Format a figure with its unit: four digits if small, whole units if large; empty for None."""
    if value is None:
        return ""
    return f"{format_figure(value)} {unit}".rstrip()


def format_estimate(estimate: Mapping[str, Any] | None) -> str:
    """Format a predicted MST; empty for None."""
    if not estimate:
        return ""
    span = f"{with_unit(estimate['low'], '')} to {with_unit(estimate['high'], '')}"
    return join_nonempty(f"{rate(estimate['mid'])} ({span})", estimate.get("reason", ""))


def format_placement(nodes: Iterable[str], nd_max_ms: float | None) -> str:
    """Format the nodes of a placement and NDmax, if that is known."""
    return join_nonempty(", ".join(nodes), "" if nd_max_ms is None else f"NDmax {nd_max_ms:.4g} ms")


def join_nonempty(*parts: str) -> str:
    """Join the non-empty parts by colons."""
    return ": ".join(part for part in parts if part)


class LogFormat(StrEnum):
    """Format of a log line."""

    TEXT = "text"
    JSON = "json"


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


@contextmanager
def logging_to_stderr(form: LogFormat) -> Iterator[None]:
    """Log from level INFO to stderr while the context lasts, each line with its time."""
    handler, root = logging.StreamHandler(), logging.getLogger()
    as_text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(_JsonLines() if form is LogFormat.JSON else as_text)
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.setLevel(before)
        root.removeHandler(handler)
