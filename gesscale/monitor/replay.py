"""A recorded run as metric source, latency source and cluster of the loop."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter

from gesscale.errors import ClusterError
from gesscale.model.cycles import KEPT_BATCHES
from gesscale.model.decision import Decision, Outcome, Reason
from gesscale.model.observation import Batch, MissingReading, OperatorReading, WorkflowObservation
from gesscale.monitor.batch_screen import CLOCK_TOLERANCE_S, screen_batches
from gesscale.monitor.record_files import RecordedDecision, Recording
from gesscale.monitor.window import missing_reading, summarise
from gesscale.ports import NODE_PROBLEMS, ClusterState, Latencies, Node
from latency_map import LatencyMap

_ENDED = attrgetter("ended_at_s")


@dataclass(slots=True, kw_only=True)
class RecordedWorld:
    """Metrics, latency map and cluster at one instant of a recorded run; read-only.

    It implements `gesscale.ports.MetricSource`, `gesscale.ports.LatencySource` and `gesscale.ports.Cluster`.
    """

    #: The run.
    recording: Recording
    #: Its latency map; its nodes are those of a cluster that was not recorded.
    delays: LatencyMap
    #: As in `gesscale.monitor.source.WindowedReader` (window_s, history_s, stale_after_s).
    window_s: float
    history_s: float
    stale_after_s: float
    #: Use the figures that the live loop read at that instant, which include some that batches do not have: CPU,
    #: idling, a broker's offsets. Otherwise compute all from the batches, as for another window.
    as_read: bool = True
    #: The instant, seconds since the epoch; may be set.
    now_s: float = 0.0
    _live: Mapping[tuple[float, str], RecordedDecision] = field(init=False)

    def __post_init__(self) -> None:
        self._live = {(each.decision.at_s, each.decision.operator): each for each in self.recording.decisions}

    def live(self, operator: str) -> RecordedDecision | None:
        """Return the recorded decision for an operator at this instant, if any."""
        return self._live.get((self.now_s, operator))

    # Monitor

    def observe(self, now_s: float) -> WorkflowObservation:
        """Return the readings of that instant; see `gesscale.ports.MetricSource`."""
        seen = [self._read(name, self.live(name), now_s) for name in self.recording.batches]
        return WorkflowObservation(
            at_s=now_s,
            readings={each.operator: each for each in seen if isinstance(each, OperatorReading)},
            missing_readings={each.operator: each for each in seen if isinstance(each, MissingReading)},
            row_ages={
                name: age
                for name in self.recording.batches
                if (live := self.live(name)) is not None and (age := live.decision.row_age) is not None
            },
        )

    def current(self, now_s: float) -> Latencies:
        """Return the map with its status at that instant; see `gesscale.ports.LatencySource`."""
        del now_s
        first_live = next(iter(self._all_live()), None)
        if first_live is None:
            return Latencies(map=self.delays)
        return Latencies(map=self.delays, map_status=first_live.latency_map)

    def _read(self, operator: str, live: RecordedDecision | None, now_s: float) -> OperatorReading | MissingReading:
        seen = _seen(live.decision) if self.as_read and live is not None else None
        if isinstance(seen, MissingReading):
            return seen
        rebuilt = summarise(
            operator,
            screen_batches(self._batches(operator, live, now_s), now_s),
            now_s=now_s,
            window_s=self.window_s,
            stale_after_s=self.stale_after_s,
        )
        if seen is None:
            return rebuilt
        if isinstance(rebuilt, MissingReading):
            return seen
        points = rebuilt.offered_points
        return replace(
            seen,
            batches=rebuilt.batches,
            warm_batches=rebuilt.warm_batches,
            offered_points=(*points, *(each for each in seen.offered_points if each.at_s > points[-1].at_s))
            if points
            else seen.offered_points,
        )

    def _batches(self, operator: str, live: RecordedDecision | None, now_s: float) -> tuple[Batch, ...]:
        """Return the batches that were visible at that instant.

        A batch that ended just before the step may have been reported after it, and one that ended just after the step
        began may have been read. The recorded number of batches decides, within the clock tolerance.
        """
        batches = self.recording.batches[operator]
        first = bisect_left(batches, now_s - self.history_s, key=_ENDED)
        end = bisect_right(batches, now_s, key=_ENDED)
        if self.as_read and live is not None:
            least = bisect_left(batches, now_s - CLOCK_TOLERANCE_S, key=_ENDED)
            most = bisect_right(batches, now_s + CLOCK_TOLERANCE_S, key=_ENDED)
            end = last if least <= (last := first + live.batches_read) <= most else end
        return batches[max(0, min(first, end - KEPT_BATCHES)) : end]

    # The cluster

    def state(self) -> ClusterState:
        """Return the state of this instant as recorded; otherwise the nodes of the latency map and the placements."""
        clusters = self.recording.clusters
        if known := bisect_right(clusters, self.now_s, key=attrgetter("at_s")):
            return clusters[known - 1].state
        live = list(self._all_live())
        unusable = {
            node: _node(node, lost.reason, lost.detail if node == lost.node else "")
            for each in live
            for lost in each.plan.rejections
            for node in (lost.node, *lost.other_nodes)
        }
        return ClusterState(
            nodes={name: unusable.get(name) or Node(name=name) for name in self.delays.names},
            placements={name: nodes for name in self.recording.batches if (nodes := self._placement(name))},
            problem=next((each.plan.detail for each in live if each.reason is Reason.CLUSTER_UNAVAILABLE), ""),
        )

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Reject every change.

        Raises
        ------
        ClusterError
            Always, because a recorded run is read-only.
        """
        raise ClusterError("recording-read-only", operator=operator, placement=list(placement))

    def _placement(self, operator: str) -> tuple[str, ...]:
        if (live := self.live(operator)) is not None:
            return live.decision.plan.before
        batches = self.recording.batches[operator]
        ended = bisect_right(batches, self.now_s, key=_ENDED)
        return batches[ended - 1].nodes if ended else ()

    def _all_live(self) -> Iterable[Decision]:
        return (live.decision for name in self.recording.batches if (live := self.live(name)) is not None)


def _seen(decision: Decision) -> OperatorReading | MissingReading:
    """Return the reading of the live loop, without its batches, or why there was none."""
    analysis = decision.analysis
    if analysis.reading is not None:
        return replace(analysis.reading, operator=decision.operator, at_s=decision.at_s)
    stale = analysis.reason is Reason.METRICS_STALE
    return missing_reading(decision.operator, "metrics-not-recorded", stale=stale, text=analysis.detail)


def _node(name: str, reason: Reason, detail: str) -> Node:
    """Return a node; unusable if the live plan rejected it for a reason other than its delay."""
    if reason not in NODE_PROBLEMS or reason is Reason.EXCLUDED:  # the settings define which are excluded
        return Node(name=name)
    return Node(name=name, problem=detail or reason.value, reason=reason)
