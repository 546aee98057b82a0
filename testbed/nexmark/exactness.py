"""Whether a stream wrote what a batch over the same events gives, row for row."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from testbed.nexmark.events import BEGINS_S
from testbed.nexmark.queries import Query
from testbed.nexmark.source import NAME, Nexmark, NexmarkOptions

TAIL_S = 60.0
"""Seconds of events at the end whose windows need not have closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Rows of a stream against those of a batch.

    Attributes
    ----------
    expected
        Rows of the batch.
    missing
        Of those, how many the stream did not write.
    unexpected
        Rows of the stream that the batch does not have: wrong ones, and those that came twice.
    """

    expected: int
    missing: int
    unexpected: int

    @property
    def exact(self) -> bool:
        """Whether both are the same, and there is a row at all."""
        return self.expected > 0 and self.missing == self.unexpected == 0


def compare(spark: Any, query: Query, options: NexmarkOptions, sink: Path) -> Comparison:
    """Compare the files that a stream wrote with the same query as a batch.

    Parameters
    ----------
    spark
        A session.
    query
        What was asked.
    options
        Of the source, as the stream had them.
    sink
        The stream's folder of Parquet files.

    Returns
    -------
    Comparison
        Of windows that close before the last `TAIL_S` seconds; a stream does not write those that are still open.
    """
    spark.dataSource.register(Nexmark)
    given = {name: str(value) for name, value in options.model_dump(exclude_none=True).items()}
    # Kept before it is filtered: Spark 4.3 moves a filter on the end of a session below the merging of its events.
    batch = query.result(spark.read.format(NAME).options(**given).load()).cache()
    stream = spark.read.schema(batch.schema).parquet(str(sink))
    if query.closes:
        last_s = BEGINS_S + options.events / options.events_per_s - TAIL_S
        until = datetime.fromtimestamp(last_s, UTC)
        batch, stream = (each.where(each[query.closes] <= until) for each in (batch, stream))
    missing, unexpected = batch.exceptAll(stream).count(), stream.exceptAll(batch).count()
    return Comparison(expected=batch.count(), missing=missing, unexpected=unexpected)
