"""A recorded series as a CSV file: read, checked and scored."""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from gesscale.csv_table import read_csv
from gesscale.errors import InputError
from gesscale.wire import MOST_REPLICAS
from testbed.scoring.sample import Completion, Sample, Scores, Until
from testbed.scoring.scorer import Scorer, is_rounding

_NOTHING_ROWS = 1e-6


class FluidQueue:
    """Rows as a fluid that waits in one line.

    Where more is processed than there is, the surplus counts for nothing: it was offered before the series began.
    What rounded rates leave behind when nothing goes in or out any more is no row that waits.
    """

    __slots__ = ("_offered_rows", "_rows", "_waiting")

    def __init__(self) -> None:
        self._rows = self._offered_rows = 0.0
        self._waiting: deque[tuple[float, float, float]] = deque()  # rows, offered from, offered until

    def hold(
        self, from_s: float, until_s: float, input_rows_per_s: float, processed_rows_per_s: float
    ) -> Iterator[Completion]:
        """Let rows in and out at even rates for a while, and return those that came out."""
        seconds = until_s - from_s
        self._offered_rows += input_rows_per_s * seconds
        if input_rows_per_s == processed_rows_per_s == 0 and is_rounding(self._rows, self._offered_rows):
            self._empty()
            return
        net = processed_rows_per_s - input_rows_per_s
        busy_s = min(seconds, self._rows / net) if net > 0 else seconds
        if busy_s > 0:
            offered = input_rows_per_s * busy_s
            if offered > 0:
                self._waiting.append((offered, from_s, from_s + busy_s))
            yield from self._serve(from_s, busy_s, processed_rows_per_s)
            self._rows -= net * busy_s
            if self._rows <= _NOTHING_ROWS:
                self._empty()
        if busy_s < seconds and input_rows_per_s > 0:
            at_s = from_s + busy_s
            yield Completion(
                rows=input_rows_per_s * (until_s - at_s),
                offered_from_s=at_s,
                offered_until_s=until_s,
                arrived_from_s=at_s,
                at_s=until_s,
            )

    def _empty(self) -> None:
        self._rows = 0.0
        self._waiting.clear()

    def _serve(self, from_s: float, seconds: float, rate: float) -> Iterator[Completion]:
        left = rate * seconds
        while left > _NOTHING_ROWS and self._waiting:
            rows, first_s, last_s = self._waiting.popleft()
            served = min(rows, left)
            reached_s = first_s + (last_s - first_s) * served / rows
            until_s = from_s + served / rate
            yield Completion(
                rows=served,
                offered_from_s=first_s,
                offered_until_s=reached_s,
                arrived_from_s=from_s,
                at_s=until_s,
            )
            if rows - served > _NOTHING_ROWS:
                self._waiting.appendleft((rows - served, reached_s, last_s))
            from_s, left = until_s, left - served


REQUIRED = (
    "t_s",
    "demand_replicas",
    "supply_replicas",
    "input_rows_per_s",
    "processed_rows_per_s",
    "reconfiguration",
)


_Replicas = Annotated[
    int, Field(ge=0, le=MOST_REPLICAS, description=f"a whole number of replicas, 0 to {MOST_REPLICAS}")
]
_Rate = Annotated[float, Field(ge=0, description="rows per second, a finite number >= 0")]


class _Row(BaseModel):
    """A row of the file; the descriptions say what is expected."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    t_s: Annotated[float, Field(description="a time in seconds, a finite number")]
    demand_replicas: _Replicas
    supply_replicas: _Replicas
    input_rows_per_s: _Rate
    processed_rows_per_s: _Rate
    reconfiguration: Annotated[int, Field(ge=0, le=1, description="0, or 1 where a change was ordered")]
    serving_replicas: _Replicas | None = None


def read_series(path: Path) -> tuple[Sample, ...]:
    """Read a recorded series.

    Parameters
    ----------
    path
        A CSV file in UTF-8 with a header of the columns `REQUIRED` and, where known, ``serving_replicas``; others
        are left alone. A row holds until the next one, so the last row only says when the series ends. Times must
        ascend; they may begin anywhere.

    Returns
    -------
    tuple of Sample
        Two or more. Without a column ``serving_replicas`` all of the supply serves.

    Raises
    ------
    InputError
        Where the file cannot be read, lacks a column or rows, or has a cell that is not what it should be: NaN,
        negative, a time that does not ascend, a reconfiguration other than 0 or 1 (a running count is none). The
        message names file, line and column.
    """
    samples = tuple(_samples(path))
    if len(samples) < 2:
        message = (
            f"{path}: expected at least two rows, the last one says when the series ends; got {len(samples)}"
        )
        raise InputError(message)
    return samples


def score_series(
    samples: Sequence[Sample],
    slo_s: float,
    *,
    until: Until = Until.SERIES,
    restart_is_supply: bool = True,
) -> Scores:
    """Score a recorded series.

    The measurement lasts from the first row until the series ends, so that the replicas of a quiet night at its end
    count. It can also end with the input, that is with the last rate above 0; what follows is the draining. Rows come
    through first in, first out, between the cumulative input and output. How long a row was inside a batch the series
    cannot tell, so latencies leave that out.

    Parameters
    ----------
    samples
        In the order of time; each holds until the next one, the last one only ends the series.
    slo_s, restart_is_supply
        As `Scorer`.
    until
        When the measurement ends.

    Raises
    ------
    InputError
        With fewer than two samples, or where the measurement is to end with the input and no rows were offered.
    """
    held = tuple(pairwise(samples))
    began_s, ended_s = samples[0].t_s, samples[-1].t_s
    if until is Until.INPUT:
        ended_s = _input_ended_s(held)
    scorer = Scorer(ended_s - began_s, slo_s, restart_is_supply=restart_is_supply)
    queue = FluidQueue()
    for sample, after in held:
        at_s, until_s = sample.t_s - began_s, after.t_s - began_s
        scorer.sampled(sample._replace(t_s=at_s))
        for completion in queue.hold(at_s, until_s, sample.input_rows_per_s, sample.processed_rows_per_s):
            scorer.completed(completion)
    return scorer.scores(samples[-1].t_s - began_s)


def _input_ended_s(held: Sequence[tuple[Sample, Sample]]) -> float:
    """Return when the last input rate above 0 ended."""
    ends_s = [after.t_s for sample, after in held if sample.input_rows_per_s > 0]
    if not ends_s:
        message = (
            f"series: expected an input rate above 0 before the last row, got none in {len(held) + 1} rows; "
            "measure until the end of the series instead"
        )
        raise InputError(message)
    return ends_s[-1]


def _samples(path: Path) -> Iterator[Sample]:
    before_s: tuple[float, int] | None = None
    for line in read_csv(path, REQUIRED).rows:
        row = line.read_as(_Row)
        if before_s is not None and row.t_s <= before_s[0]:
            message = (
                f"{path}, line {line.line}, column t_s: expected a time after the {before_s[0]:g} s of line "
                f"{before_s[1]}, got {row.t_s:g}; sort the rows and leave repeated ones out"
            )
            raise InputError(message)
        before_s = row.t_s, line.line
        yield Sample(
            t_s=row.t_s,
            demand_replicas=row.demand_replicas,
            supply_replicas=row.supply_replicas,
            serving_replicas=row.supply_replicas if row.serving_replicas is None else row.serving_replicas,
            input_rows_per_s=row.input_rows_per_s,
            processed_rows_per_s=row.processed_rows_per_s,
            reconfigurations=row.reconfiguration,
        )
