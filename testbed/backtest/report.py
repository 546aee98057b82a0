"""Results of a backtest: tables, a document, a page, and the resource to paste."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gesscale.cli.output import table
from gesscale.common import API_VERSION
from gesscale.common.errors import cause_of
from gesscale.errors import InputError
from testbed.backtest.law import Learned
from testbed.backtest.play import Conditions
from testbed.backtest.recorded_query import RecordedQuery, Usage

_WORDS = ("replicas in the mean", "late minutes", "changes", "replica-hours", "saved replica-hours")


class ComparedFigure(NamedTuple):
    """A figure as recorded, by the likeliest law, and the least and the greatest by all laws."""

    now: float | None
    played: float
    low: float
    high: float

    @classmethod
    def of(cls, now: float | None, values: Sequence[float]) -> "ComparedFigure":
        """Return a figure by each law, the likeliest first."""
        return cls(now, values[0], min(values), max(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """A backtest and its results."""

    query: RecordedQuery
    learned: Learned
    conditions: Conditions
    #: What the load would have cost by each law, the likeliest first.
    played: Sequence[Usage]

    @property
    def figures(self) -> Mapping[str, ComparedFigure]:
        """The figures by name."""
        now = self.query.usage(self.conditions.from_s, self.conditions.slo_s)
        columns = dict(zip(Usage._fields, zip(*self.played, strict=True), strict=True))
        saved = ComparedFigure.of(None, [now.replica_h - each for each in columns["replica_h"]])
        return {**{name: ComparedFigure.of(getattr(now, name), each) for name, each in columns.items()}, "saved": saved}

    def tables(self) -> list[Table]:
        """Return the table of the figures, and that of what the record shows."""
        query, learned, conditions = self.query, self.learned, self.conditions
        facts: list[Sequence[object]] = [
            ["batches that show it", learned.batches],
            ["replicas that they had", ", ".join(map(str, learned.replicas))],
            ["trigger interval, s", query.trigger_s],
            ["cap on the rows of a batch", None if query.cap is None else query.cap.at(1)],
        ]
        for count in sorted({1, *learned.replicas, conditions.max_replicas}):
            each = ComparedFigure.of(
                None, [law.mst_rows_per_s(count, query.trigger_s, query.cap) for law in learned.laws]
            )
            facts.append([f"capacity of {count}, rows/s", f"{each.played:.4g} ({each.low:.4g} to {each.high:.4g})"])
        began, ended = (datetime.fromtimestamp(at_s, UTC) for at_s in (conditions.from_s, query.span_s[1]))
        title = f"{query.name}, {began:%Y-%m-%d %H:%M} to {ended:%H:%M} UTC, rows late after {conditions.slo_s:g} s"
        figures = [
            [None if each is None else round(each, 2) + 0.0 for each in figure] for figure in self.figures.values()
        ]
        rows = [[words, *figure] for words, figure in zip(_WORDS, figures, strict=True)]
        columns = ["", "now", f"with {conditions.policy}", "from", "to"]
        return [table(title, columns, rows), table("What the record shows", ["", ""], facts)]

    def document(self) -> Mapping[str, Any]:
        """Return the document for JSON and YAML."""
        return {
            "apiVersion": API_VERSION,
            "query": self.query.name,
            "until_s": self.query.span_s[1],
            "trigger_s": self.query.trigger_s,
            "conditions": self.conditions,
            "learned": self.learned,
            "figures": {name: figure._asdict() for name, figure in self.figures.items()},
            "resource": yaml.safe_load(self.resource()),
        }

    def resource(self) -> str:
        """Return the StreamAutoscaler of the query as YAML."""
        conditions, cap = self.conditions, self.query.cap
        named = "".join(each if each.isascii() and each.isalnum() else "-" for each in self.query.name.lower())
        caps = {} if cap is None else {"rows": cap.rows} if cap.rows else {"rowsPerReplica": cap.rows_per_replica}
        spec = {
            "slo": f"{conditions.slo_s:g}s",
            "mode": "Recommend",
            "minReplicas": conditions.min_replicas,
            "maxReplicas": conditions.max_replicas,
            **({"batchCap": caps} if caps else {}),
        }
        head = {"apiVersion": "gesscale.dev/v1alpha1", "kind": "StreamAutoscaler"}
        return yaml.safe_dump(
            {**head, "metadata": {"name": named.strip("-") or "query"}, "spec": spec}, sort_keys=False
        )

    def write_page(self, file: Path) -> None:
        """Write the tables and the resource as one HTML file; raises InputError if that fails."""
        page = Console(record=True, file=io.StringIO(), width=100)
        page.print(*self.tables(), escape(self.resource()), sep="\n")
        try:
            file.write_text(page.export_html(), "utf-8")
        except OSError as error:
            raise InputError("file-unwritable", source=str(file), cause=cause_of(error)) from error
