"""The batch record, and the table of docs/reference/spark_metrics.md that is generated from it."""

from collections.abc import Iterator
from pathlib import Path

from gesscale.batch_record import PREFIX, BatchRecord, HostWork, figures_of

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "spark_metrics.md"
HEAD = f"| `/batches` | `/metrics`: `{PREFIX}...` | meaning | from |\n|---|---|---|---|\n"


def rows() -> Iterator[str]:
    for prefix, record in (("", BatchRecord), ("by_host.HOST.", HostWork)):
        for name, figure in figures_of(record).items():
            gauge = f"`{figure.gauge}`" if figure.gauge else "–"
            yield f"| `{prefix}{name}` | {gauge} | {figure.text} | {figure.source} |\n"


def test_the_page_has_a_row_for_each_figure() -> None:
    table = HEAD + "".join(rows())
    assert f"\n\n{table}\n" in PAGE.read_text("utf-8"), (
        f"docs/reference/spark_metrics.md: replace the table by\n{table}"
    )
