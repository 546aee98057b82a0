"""A broker's totals change what gesscale decides: the setting `kafka`."""

from dataclasses import replace

from edge import FakeMetrics, observe
from gesscale_streams import TOPIC_ROWS, decide, stream

from gesscale.model.decision import Analysis, Plan, Reason
from gesscale.monitor.kafka import KafkaInput
from gesscale.policies.gesscale.memo import GesscaleMemo


class Topic:
    """A topic with the end offsets of the test."""

    topic = "rides"

    def __init__(self, *ends: float) -> None:
        self.ends = list(ends)

    def end_offset_rows(self, timeout_s: float) -> int:
        del timeout_s
        return int(self.ends.pop(0))


def decided(*ends: float) -> tuple[Analysis, Plan]:
    """Return what is decided 30 s after the newest batch, a minute after the step before."""
    seen = stream(60)
    now_s = seen.at_s + 30.0
    steps = FakeMetrics([observe(replace(seen, batches=seen.batches[:12])), observe(seen)])
    source = KafkaInput(steps, {"op": Topic(*ends)}, timeout_s=5.0, window_s=60.0)
    source.observe(now_s - 60.0)
    return decide(source.observe(now_s).readings["op"])


def test_rows_that_no_batch_has_seen_are_answered() -> None:
    # 60 rows/s of the 100 that a replica does; the newest batch began at 1170 s, after 10,200 rows. In the 36 s since
    # then (its 6 s, and 30 s in which the next batch runs) 16,000 rows came.
    newest = TOPIC_ROWS + 60 * 170
    steady, kept = decided(newest - 2400, newest + 2160)
    assert (kept.reason, kept.placement) == (Reason.WITHIN_TARGET, ("hub",))
    burst, grown = decided(newest - 2400, newest + 16_000)
    assert grown.reason is Reason.OVERLOADED
    assert len(grown.placement) > 1
    loads = [GesscaleMemo.model_validate_json(each.memo).load.forecast(60.0).rate for each in (steady, burst)]
    assert loads[0] < 70
    assert loads[1] > 250  # 16,000 rows and 24 s of 60 rows/s in the minute: 291 rows/s
    assert (steady.reading.backlog_rows, burst.reading.backlog_rows) == (2160, 16_000)
