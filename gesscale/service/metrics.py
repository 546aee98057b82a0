"""Prometheus metrics of a scaler: figures of the newest step, and counts since its start.

Each scrape creates the gauges from the figures of the newest step. So an operator that has vanished leaves no series,
and an unknown figure has no sample.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from gesscale.model.decision import Decision, MapStatus, Reason, Verdict
from gesscale.model.model_text import fit_verdict
from gesscale.model.workflow import Operator, Workflow
from gesscale.plan.replica_kinds import ReplicaKinds, replica_kinds
from gesscale.ports import ClusterState, Knowledge
from perfmodel import Estimate, ModelSummary


def _gauge(name: str, text: str) -> Any:
    return field(default=None, metadata={"name": name, "text": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorFigures:
    """Figures of an operator; None if unknown.

    The numbers of replicas are those of `gesscale.plan.replica_kinds`. The MST is predicted for the present placement,
    rows/s. Growth is blocked if more replicas are desired and none can be added. The other figures are gauges with a
    help text.
    """

    min_replicas: int
    max_replicas: int
    ordered_replicas: int | None = None
    running_replicas: int | None = None
    working_replicas: int | None = None
    mst: Estimate | None = None
    model: ModelSummary | None = None
    late_s: float | None = None
    growth_blocked_by: Reason | None = None
    input_rows_per_s: float | None = _gauge("input_rows_per_second", "Rows offered per second (IR).")
    throughput_rows_per_s: float | None = _gauge("throughput_rows_per_second", "Rows processed per second (CT).")
    backlog_rows: float | None = _gauge("backlog_rows", "Rows offered and not yet processed.")
    nd_max_s: float | None = _gauge(
        "nd_max_seconds", "Longest round trip within the placement, driver's node included."
    )
    saturated_share: float | None = _gauge(
        "saturated_ratio", "Share of the window's batches in which it was saturated."
    )
    changes_last_hour: int | None = _gauge("changes_last_hour", "Changes ordered in the last hour.")
    undone_changes_last_hour: int | None = _gauge(
        "undone_changes_last_hour", "Changes of the last hour that later ones undid within ten minutes."
    )
    row_age_s: float | None = _gauge(
        "row_age_seconds", "Age of the oldest row that is not yet processed; 0 if none waits."
    )
    objective_s: float | None = _gauge("objective_seconds", "Age from which its rows are late.")
    order_pending_s: float | None = _gauge("order_pending_seconds", "Age of the order that has not settled.")


def figures_of(
    decision: Decision, operator: Operator, known: Knowledge, replicas: ReplicaKinds, now_s: float
) -> OperatorFigures:
    """Return the figures of an operator."""
    analysis, reading, row_age = decision.analysis, decision.analysis.reading, decision.row_age
    pending, changes = known.pending(decision.operator), known.changes_last_hour(decision.operator, now_s)
    return OperatorFigures(
        min_replicas=operator.min_replicas,
        max_replicas=operator.max_replicas,
        ordered_replicas=_count(replicas.ordered),
        running_replicas=_count(replicas.running),
        working_replicas=_count(replicas.working),
        input_rows_per_s=reading.input_rows_per_s if reading else None,
        throughput_rows_per_s=reading.throughput_rows_per_s if reading else None,
        backlog_rows=reading.backlog_rows if reading else None,
        mst=analysis.mst,
        nd_max_s=None if analysis.nd_max_ms is None else analysis.nd_max_ms / 1000,
        saturated_share=reading.saturated_share if reading else None,
        row_age_s=row_age.seconds if row_age else None,
        objective_s=row_age.objective_s if row_age else None,
        late_s=row_age.late_s if row_age else None,
        changes_last_hour=changes.ordered,
        undone_changes_last_hour=changes.undone,
        order_pending_s=None if pending is None else max(0.0, now_s - pending.at_s),
        model=analysis.model,
        growth_blocked_by=decision.blocked_by if analysis.verdict is Verdict.MORE else None,
    )


def _count(nodes: tuple[str, ...] | None) -> int | None:
    return None if nodes is None else len(nodes)


def desired_placement(decision: Decision, known: Knowledge) -> tuple[str, ...]:
    """Return the pending order's placement, or else the planned one; empty if unknown."""
    pending = known.pending(decision.operator)
    return decision.plan.placement if pending is None else pending.placement


PREFIX = "gesscale_"
_Key = TypeVar("_Key", bound=tuple[str, ...])
_WORKFLOW = ("namespace", "workflow")
_OPERATOR = (*_WORKFLOW, "operator")
_PHASE_BUCKETS_S = (0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_RESCALE_BUCKETS_S = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 60.0, 120.0, 300.0, 600.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiFigures:
    """Figures of requests to the API server."""

    #: Counts by verb, resource and HTTP status code since the start.
    requests: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    #: By watched resource, seconds since its cache was last known to be current; 0 if it is.
    stale_s: Mapping[str, float] = field(default_factory=dict)
    #: Number of verbs that RBAC currently denies.
    missing_rights: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFigures:
    """Figures of one step of a workflow."""

    #: When, seconds since the epoch.
    at_s: float
    #: Figures by operator; the whole workflow.
    operators: Mapping[str, OperatorFigures]
    #: Status of its latency map.
    latency_map: MapStatus = field(default_factory=MapStatus)


def step_figures(
    decisions: Iterable[Decision], workflow: Workflow, known: Knowledge, cluster: ClusterState, at_s: float
) -> StepFigures:
    """Return the figures of a step."""
    figures = {
        each.operator: figures_of(
            each, workflow.operators[each.operator], known, replica_kinds(each, known, cluster), at_s
        )
        for each in decisions
    }
    map_status = next(iter(decisions)).latency_map
    return StepFigures(at_s=at_s, operators=figures, latency_map=map_status)


_KINDS = ("ordered", "running", "working", "min", "max")
_BOUNDS = ("low", "mid", "high")


class ScalerMetrics(Collector):
    """Collects the metrics of all workflows of a process in its own registry; thread-safe."""

    def __init__(self, version: str, api: Callable[[], ApiFigures] = ApiFigures) -> None:
        self._version, self._api = version, api
        self._changing = threading.Lock()
        self._leading: bool | None = None
        self._newest: dict[tuple[str, str], StepFigures] = {}
        self._last_step_at_s: dict[tuple[str, str], float] = {}
        self._operators: dict[tuple[str, str], frozenset[str]] = {}
        self._steps: Counter[tuple[str, ...]] = Counter()
        self._decisions: Counter[tuple[str, ...]] = Counter()
        self._phases = Histogram(
            f"{PREFIX}phase_duration_seconds",
            "Time spent in a phase of a step.",
            ("phase",),
            buckets=_PHASE_BUCKETS_S,
            registry=None,
        )
        self._rescales = Histogram(
            f"{PREFIX}rescale_duration_seconds",
            "Time from an order until it has settled.",
            buckets=_RESCALE_BUCKETS_S,
            registry=None,
        )
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)

    def lead(self, leading: bool) -> None:
        """Set whether this process leads; otherwise it exports no operators."""
        with self._changing:
            self._leading = leading
            if not leading:
                self._newest, self._last_step_at_s = {}, {}

    def step_done(self, namespace: str, workflow: str, figures: StepFigures, decisions: Iterable[Decision]) -> None:
        """Replace the figures by those of a step, and count its decisions."""
        key = (namespace, workflow)
        with self._changing:
            self._newest[key] = figures
            self._last_step_at_s[key] = figures.at_s
            self._steps[(*key, "ok")] += 1
            operators = frozenset(figures.operators)
            if not self._operators.get(key, operators) <= operators:
                self._keep_decisions(lambda labels: labels[:2] != key or labels[2] in operators)
            self._operators[key] = operators
            for each in decisions:
                words = (each.analysis.verdict.value, each.plan.reason.value)
                self._decisions[(*key, each.operator, *words)] += 1

    def step_failed(self, namespace: str, workflow: str) -> None:
        """Count a failed step, and drop the previous figures, which are too old."""
        key = (namespace, workflow)
        with self._changing:
            self._newest.pop(key, None)
            self._steps[(*key, "failed")] += 1

    def forget(self, namespace: str, workflow: str) -> None:
        """Drop all series of a workflow that has been deleted."""
        key = (namespace, workflow)
        with self._changing:
            self._newest.pop(key, None)
            self._last_step_at_s.pop(key, None)
            self._operators.pop(key, None)
            self._steps = Counter({labels: n for labels, n in self._steps.items() if labels[:2] != key})
            self._keep_decisions(lambda labels: labels[:2] != key)

    def measure_phase(self, phase: str) -> AbstractContextManager[Any]:
        """Return a context manager that measures a phase, one of `gesscale.loop.PHASES`."""
        return self._phases.labels(phase).time()

    def rescale_took(self, seconds: float) -> None:
        """Observe the time from an order until it has settled."""
        self._rescales.observe(seconds)

    def page(self, _parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        """Return the metrics; see `gesscale.common.http_server.Page`."""
        return CONTENT_TYPE_PLAIN_0_0_4, generate_latest(self.registry)

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families."""
        with self._changing:
            newest, last_step_at_s, leading = dict(self._newest), dict(self._last_step_at_s), self._leading
            steps, decisions = dict(self._steps), dict(self._decisions)
        yield _gauges("build_info", "The running build.", ("version",), {(self._version,): 1})
        if leading is not None:
            yield _gauges("leader", "1 if this process holds the lease, else 0.", (), {(): int(leading)})
        yield _counts("loop_steps", "Steps of the loop.", (*_WORKFLOW, "result"), steps)
        yield _counts("decisions", "Decisions.", (*_OPERATOR, "verdict", "reason"), decisions)
        yield _gauges("last_step_timestamp_seconds", "Time of the last completed step.", _WORKFLOW, last_step_at_s)
        ages = {key: step.latency_map.age_s for key, step in newest.items()}
        yield _gauges("latency_map_age_seconds", "Age of the latency map at the last step.", _WORKFLOW, ages)
        yield from _operator_gauges(newest)
        yield from _api_families(self._api())
        yield from _without_created(self._phases)
        yield from _without_created(self._rescales)

    def _keep_decisions(self, wanted: Callable[[tuple[str, ...]], bool]) -> None:
        self._decisions = Counter({labels: n for labels, n in self._decisions.items() if wanted(labels)})


def _operator_gauges(newest: Mapping[tuple[str, str], StepFigures]) -> Iterator[Metric]:
    by_operator = {
        (*key, operator): figures for key, step in newest.items() for operator, figures in step.operators.items()
    }
    for gauge in (each for each in fields(OperatorFigures) if each.metadata):
        figures = {labels: getattr(each, gauge.name) for labels, each in by_operator.items()}
        yield _gauges(gauge.metadata["name"], gauge.metadata["text"], _OPERATOR, figures)
    bounds = {
        (*labels, bound): getattr(each.mst, bound)
        for labels, each in by_operator.items()
        if each.mst is not None
        for bound in _BOUNDS
    }
    yield _gauges("mst_rows_per_second", "Predicted MST of the present placement.", (*_OPERATOR, "bound"), bounds)
    replicas = {
        (*labels, kind): getattr(each, f"{kind}_replicas") for labels, each in by_operator.items() for kind in _KINDS
    }
    text = "Replicas of the order in force, ready ones, those with a task in the newest batches, and the limits."
    yield _gauges("replicas", text, (*_OPERATOR, "kind"), replicas)
    late = {labels: each.late_s for labels, each in by_operator.items() if each.late_s is not None}
    yield _counts("late_seconds", "Seconds in which the oldest row was older than the objective.", _OPERATOR, late)
    blocked = {
        (*labels, each.growth_blocked_by.value): 1 for labels, each in by_operator.items() if each.growth_blocked_by
    }
    text = (
        "1 for the reason why a replica that the load needs cannot be added; absent if none is needed or one is added."
    )
    yield _gauges("growth_blocked", text, (*_OPERATOR, "reason"), blocked)
    models = {labels: each.model for labels, each in by_operator.items() if each.model is not None}
    fitted = {labels: int(fit_verdict(each.model, each.mst)[0]) for labels, each in by_operator.items() if each.model}
    yield _gauges("model_fitted", "1 if the condition ModelFitted is True, else 0.", _OPERATOR, fitted)
    yield from _model_gauges(models)


def _model_gauges(models: Mapping[tuple[str, str, str], ModelSummary]) -> Iterator[Metric]:
    laws = {(*labels, law.law): law for labels, model in models.items() for law in model.laws}
    values = {
        (*labels, each.name, each.unit, bound): value
        for labels, law in laws.items()
        for each in law.parameters
        for bound, value in (("low", each.low), ("mid", each.value), ("high", each.high))
    }
    in_use = {(*labels, law.law): int(law.law == model.law) for labels, model in models.items() for law in model.laws}
    errors = {
        labels: None if law.held_out_error_pct is None else law.held_out_error_pct / 100 for labels, law in laws.items()
    }
    of_law = (*_OPERATOR, "law")
    yield _gauges("model_law_in_use", "1 for the law that decides, 0 for the other.", of_law, in_use)
    text = "Mean error of a law for placements that it was not fitted to."
    yield _gauges("model_held_out_error_ratio", text, of_law, errors)
    text = "Parameter of a law in its unit, with the ends of its 90 % interval."
    yield _gauges("model_parameter", text, (*of_law, "parameter", "unit", "bound"), values)


def _api_families(figures: ApiFigures) -> Iterator[Metric]:
    requests = ("verb", "resource", "code")
    yield _counts("kubernetes_requests", "Requests to the API server.", requests, figures.requests)
    stale = {(resource,): seconds for resource, seconds in figures.stale_s.items()}
    yield _gauges(
        "kubernetes_watch_stale_seconds", "Seconds since a cache was last known to be current.", ("resource",), stale
    )
    missing = {(): figures.missing_rights}
    yield _gauges("missing_rights", "Verbs that RBAC denies the controller.", (), missing)


def _gauges(name: str, text: str, labels: tuple[str, ...], figures: Mapping[_Key, float | None]) -> Metric:
    family = GaugeMetricFamily(f"{PREFIX}{name}", text, labels=labels)
    for values, figure in figures.items():
        if figure is not None:
            family.add_metric(values, figure)
    return family


def _counts(name: str, text: str, labels: tuple[str, ...], counts: Mapping[_Key, float]) -> Metric:
    family = CounterMetricFamily(f"{PREFIX}{name}", text, labels=labels)
    for values, count in counts.items():
        family.add_metric(values, count)
    return family


def _without_created(histogram: Histogram) -> Iterator[Metric]:
    """Yield a histogram without the creation time of each series."""
    for family in histogram.collect():
        family.samples = [each for each in family.samples if not each.name.endswith("_created")]
        yield family
