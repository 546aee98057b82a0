"""Tables of a report: the same for a terminal and for Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from gesscale.cli.output import table


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table.

    Attributes
    ----------
    title: above it
    headings: of its columns
    rows: their cells
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    def shown(self) -> Table:
        """Return it for a terminal."""
        return table(self.title, self.headings, self.rows)

    def markdown(self) -> str:
        """Return it as Markdown, its title as a heading."""
        lines = [self.headings, ["---"] * len(self.headings), *self.rows]
        return "\n".join([f"### {self.title}", "", *(f"| {' | '.join(line)} |" for line in lines), ""])
