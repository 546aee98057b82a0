"""Offered rows of a Kafka source against the truth: topics made again, markers, truncated logs, repeated reads."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gesscale.spark.sources import Position, Sources

#: The events between two batches.
EVENTS = ("none", "made again", "partition added", "old topic found", "topic gone", "log truncated")


@dataclass
class Topics:
    """Topics of one partition each; a row takes one offset, and with markers more."""

    offsets_per_row: float
    ends: dict[str, float] = field(default_factory=lambda: {"a": 5000.0, "b": 300.0})
    named: int = 0
    offered: float = 0.0

    def write(self, rows: int) -> None:
        share = rows // len(self.ends)
        for name in self.ends:
            self.ends[name] += share * self.offsets_per_row
        self.offered += share * len(self.ends)

    def happen(self, event: str) -> None:
        first = next(iter(self.ends))
        if event == "made again" and self.ends[first] > 2000:  # otherwise the new topic may reach the old end at once
            self.ends[first] = 0.0
        elif event == "partition added":
            self.named += 1
            self.ends[f"new{self.named}"] = 0.0
        elif event == "old topic found":
            self.named += 1
            self.ends[f"old{self.named}"] = 4_000_000.0
        elif event == "topic gone" and len(self.ends) > 1:
            del self.ends[first]
        elif event == "log truncated":
            self.ends[first] = max(0.0, self.ends[first] - 7.0)

    def offset(self) -> dict[str, dict[str, int]]:
        return {name: {"0": round(end)} for name, end in self.ends.items()}


def read(sources: Sources, start: object, latest: object, rows: int) -> Position | None:
    report = {"description": "KafkaV2[SubscribePattern[.*]]", "startOffset": start, "endOffset": latest}
    return sources.position([report | {"latestOffset": latest, "numInputRows": rows}], rows)


@settings(max_examples=examples(200))
@given(
    steps=st.lists(
        st.tuples(st.sampled_from((*["none"] * 6, *EVENTS)), st.integers(200, 400)), min_size=3, max_size=30
    ),
    offsets_per_row=st.floats(1, 3.3),
    reads=st.sampled_from([1, 1, 2]),
)
def test_the_rows_between_two_batches_are_those_that_came_or_unknown(
    steps: list[tuple[str, int]], offsets_per_row: float, reads: int
) -> None:
    topics, sources = Topics(offsets_per_row), Sources()
    start, before, counted = topics.offset(), None, 0.0
    for event, rows in steps:
        topics.happen(event)
        truth = topics.offered
        topics.write(rows)
        latest = topics.offset()
        came = topics.offered - truth
        # As many rows as Spark reads: from the start of a known counter on, and of a new one from 0 on.
        grown = sum(max(0, end["0"] - start.get(name, {"0": 0})["0"]) for name, end in latest.items())
        lost = any(end["0"] < start.get(name, end)["0"] for name, end in latest.items())
        numbers = round(min(grown, 2000) / offsets_per_row) * reads
        found = read(sources, start, latest, 0 if lost else numbers)
        codes = {problem.code for problem in sources.problems}
        assert codes <= {"source-counter-restarted", "source-rows-repeated", "source-rows-uneven"}
        if lost:
            assert codes & {"source-counter-restarted", "source-rows-uneven"}
        # Repeated reads and markers cancel out: then a row that is read twice counts up to twice, as in the batch.
        unit = min(float(reads), offsets_per_row)
        counted += came
        if found is not None:
            if before is not None and found.offered >= before.offered:  # not after a restart
                assert 0.75 * counted - 10 <= found.offered - before.offered <= 1.3 * unit * counted + 10
            before, counted = found, 0.0
        start = latest
