"""The age of the rows of a real query against the event times that its rows have."""

from itertools import pairwise
from statistics import mean

import pytest
from spark_trials import BEGIN, results

pytestmark = pytest.mark.real

TRIGGER_S, SOURCE_S = 2.0, 1.0
"""The rate source offers the rows of each second at its end."""

PROGRAM = (
    BEGIN
    + """
from gesscale.model.workflow import Operator, Workflow
from gesscale.monitor.driver import DriverMetrics
from gesscale.monitor.row_age import RowAges
from pyspark.sql import functions as f

ended = []

def each_batch(frame, number):
    first, rows = frame.agg(f.min(f.col("timestamp").cast("double")), f.count("*")).first()
    time.sleep({6: 9.0, 7: 3.0}.get(number, 0.1))
    if rows:
        ended.append([first, time.time(), rows])

query = (
    read("rate").option("rowsPerSecond", 20).load().writeStream.queryName("trial").foreachBatch(each_batch)
    .trigger(processingTime="2 seconds").start()
)
source = DriverMetrics({"trial": attachment.url}, window_s=20.0, stale_after_s=60.0, history_s=60.0, timeout_s=5.0)
flow, ages, seen = Workflow([Operator(name="trial", driver_node="hub")], slo_s=5.0), RowAges(), []
while len(ended) < 13:
    time.sleep(0.7)
    now_s = time.time()
    age = ages.measure(source.observe(now_s), flow).row_ages["trial"]
    seen.append([now_s, age.seconds, age.late_s])
query.stop()
print("RESULT " + json.dumps({"name": "trial", "ended": ended, "seen": seen}), flush=True)
"""
)


def test_the_age_is_within_a_trigger_of_the_event_times() -> None:
    found, _ = results(PROGRAM)
    ended, seen = found["trial"]["ended"], found["trial"]["seen"]

    def true_age_s(at_s: float) -> float:
        """Return the age of the oldest row that no ended batch has."""
        return max(0.0, at_s - next(first_s for first_s, ended_s, _ in ended if ended_s > at_s))

    # The report of a batch reaches the scaler a little after its end; instants next to an end are left out.
    apart = [each for each in seen if all(not 0.0 <= each[0] - ended_s < 1.0 for _, ended_s, _ in ended)]
    known = [(at_s, age_s) for at_s, age_s, _ in apart if age_s is not None and at_s < ended[-1][1]]
    errors_s = [age_s - true_age_s(at_s) for at_s, age_s in known]
    figures = f"{len(known)} readings, error {mean(errors_s):+.2f} s, {min(errors_s):+.2f} to {max(errors_s):+.2f} s"
    print(figures)  # noqa: T201 - to be read with -s
    assert len(known) >= 10
    assert max(map(abs, errors_s)) <= TRIGGER_S + SOURCE_S
    assert max(age_s for _, age_s in known) > 8.0  # a batch of nine seconds
    # Late while the oldest row is older than 5 s; between two ends of batches its age grows with the clock.
    begun_s, last_s = seen[0][0], max(ended_s for _, ended_s, _ in ended[:-1])
    late_s = sum(
        max(0.0, end_s - max(begin_s, first_s + 5.0, begun_s))
        for (_, begin_s, _), (first_s, end_s, _) in pairwise(ended)
        if end_s <= last_s
    )
    assert seen[-1][2] == pytest.approx(late_s, abs=TRIGGER_S + SOURCE_S)
