"""The ``spec`` of a StreamAutoscaler: the desired scaling of one operator."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema, model_validator

from gesscale.common.errors import InvalidValueError
from gesscale.kubernetes.resource.parts import (
    MAX_LISTED_NODES,
    Address,
    Instant,
    NodeName,
    ResourcePart,
    ScheduleSpan,
    ShortName,
    Span,
    ValidationRule,
    like,
    rule_of,
)
from gesscale.kubernetes.resource.spec_groups import LatencyMapSpec, MonitorSpec, PolicySpec
from gesscale.model.schedule import ScalingSchedule
from gesscale.model.workflow import REPLICA_LIMITS
from gesscale.settings.groups import PlanSettings, Settings
from gesscale.settings.operators import KafkaSettings, OperatorSettings, ScheduleSettings, WorkflowSettings

LabelKey = Annotated[
    str,
    StringConstraints(pattern=r"^([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$", max_length=317),
]
LabelValue = Annotated[
    str, StringConstraints(pattern=r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$", max_length=63)
]


class Requirement(ResourcePart):
    """A requirement on one label."""

    key: LabelKey
    """The label."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How the label compares with the values; a node without the label fulfils NotIn."""
    values: tuple[LabelValue, ...] = Field((), max_length=64)
    """At least one for In and NotIn, none for the others."""
    RULES = (
        ValidationRule(
            cel="(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
            message="values are required for In and NotIn, and not allowed for Exists and DoesNotExist",
            holds=lambda it: (it.operator in {"In", "NotIn"}) == bool(it.values),
        ),
    )


class LabelSelector(ResourcePart):
    """Requirements on labels; an empty selector matches everything."""

    match_labels: dict[str, LabelValue] = Field(default_factory=dict, max_length=32)
    """Labels that must have exactly these values."""
    match_expressions: tuple[Requirement, ...] = Field((), max_length=32)
    """Further requirements; all must be met."""


#: Where gesscale.spark publishes batches in the driver pod.
METRICS_PORT = 9108

_QUANTITY = r"^([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2}|[KMGTPE]i|[numkMGTPE])?$"


def _quantity(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


#: An amount as Kubernetes writes it, such as 500m or 1Gi.
Quantity = Annotated[
    str,
    StringConstraints(pattern=_QUANTITY, max_length=32),
    BeforeValidator(_quantity),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": True,
            "pattern": _QUANTITY,
            "maxLength": 32,
            "minimum": 0,
        }
    ),
]

_SET: dict[str, Any] = {"x-kubernetes-list-type": "set"}


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) != len(names):
        raise InvalidValueError("names-repeated", names=names)
    return names


NodeNames = Annotated[tuple[NodeName, ...], Field(max_length=MAX_LISTED_NODES), AfterValidator(_distinct)]
Upstream = Annotated[tuple[ShortName, ...], Field(max_length=64), AfterValidator(_distinct)]
Architecture = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+$", min_length=1, max_length=16)]
Architectures = Annotated[tuple[Architecture, ...], Field(max_length=8), AfterValidator(_distinct)]


class DriverSpec(ResourcePart):
    """The Spark driver: a pod that is found by its labels, or a process outside the cluster."""

    selector: LabelSelector | None = None
    """Labels of the driver pod. Default: gesscale.dev/autoscaler=NAME and spark-role=driver, which spark-submit sets
    with the setting spark.kubernetes.driver.label.gesscale.dev/autoscaler=NAME."""
    port: int = Field(METRICS_PORT, ge=1, le=65535)
    """Port of the driver pod where gesscale.spark publishes batches. Default: the default of gesscale.spark."""
    node: NodeName | None = None
    """Node of a driver outside the cluster; it counts towards NDmax. Default: the driver is a pod."""
    metrics_url: Address | None = None
    """Address where a driver outside the cluster publishes batches: a Service of the namespace, or a host that the
    administrator allows. Default: the driver is a pod."""
    RULES = (
        ValidationRule(
            cel="has(self.node) == has(self.metricsUrl)",
            message="node and metricsUrl are required together, for a driver outside the cluster only",
            holds=lambda it: (it.node is None) == (it.metrics_url is None),
        ),
        ValidationRule(
            cel="!(has(self.selector) && has(self.node))",
            message="selector is not allowed together with node and metricsUrl",
            holds=lambda it: it.selector is None or it.node is None,
        ),
    )


class BatchCapSpec(ResourcePart):
    """The batch cap: fixed, or growing with the replicas."""

    rows: int | None = like(OperatorSettings, "batch_cap_rows")
    rows_per_replica: int | None = like(OperatorSettings, "batch_cap_rows_per_replica")
    RULES = (
        ValidationRule(
            cel="has(self.rows) != has(self.rowsPerReplica)",
            message="expected either rows or rowsPerReplica",
            holds=lambda it: (it.rows is None) != (it.rows_per_replica is None),
        ),
    )


class RequestsSpec(ResourcePart):
    """Resource requests of one executor."""

    cpu: Quantity | None = None
    """CPUs, such as 500m. Default: the requests of a running executor of this operator."""
    memory: Quantity | None = None
    """Memory, such as 900Mi. Default: the requests of a running executor of this operator."""


class ExecutorSpec(ResourcePart):
    """Further constraints on the nodes of executors."""

    requests: RequestsSpec = RequestsSpec()
    """Resource requests of one executor, which a node must have free."""
    architectures: Architectures = Field((), json_schema_extra=_SET)
    """Architectures of the image, such as arm64 and amd64. Default: those of the nodes on which driver and executors
    run."""
    exclude_nodes: NodeNames = like(PlanSettings, "exclude_nodes", json_schema_extra=_SET)


class ReconfigurationSpec(ResourcePart):
    """How a change of replicas is applied."""

    strategy: Literal["Live", "Restart"] = "Live"
    """Live: executors join and leave the running query. Restart: the query stops at a checkpoint and starts again on
    the new placement. Default: Live, which stops nothing; Restart is for jobs whose state or Kafka partitions limit the
    useful replicas."""
    rescale_timeout_s: Span = like(PlanSettings, "rescale_timeout_s")


class PauseSpec(ResourcePart):
    """A pause: no changes; metrics and recommendations continue."""

    until_s: Instant | None = None
    """End time. Default: until the pause is removed from the resource."""
    reason: Annotated[str, StringConstraints(max_length=256)] = ""
    """Reason, shown in the condition and the event. Default: none."""


class OverrideSpec(ResourcePart):
    """A manual override of the policy: a number of replicas, or their nodes."""

    replicas: int | None = Field(None, ge=1, le=MAX_LISTED_NODES)
    """Number of replicas; their nodes are chosen by the latency map. Default: nodes gives them."""
    nodes: NodeNames = Field((), json_schema_extra=_SET)
    """Nodes, one replica each. Default: replicas gives their number."""
    until_s: Instant
    """End time. Required, so that overrides always expire."""
    RULES = (
        ValidationRule(
            cel="has(self.replicas) != (has(self.nodes) && size(self.nodes) > 0)",
            message="expected either replicas or nodes",
            holds=lambda it: (it.replicas is None) == bool(it.nodes),
        ),
    )


class ScheduleSpec(ResourcePart):
    """A time that recurs, in which changes are frozen or the replicas have other limits."""

    cron: str = like(ScheduleSettings, "cron")
    time_zone: str = like(ScheduleSettings, "time_zone")
    duration_s: ScheduleSpan = like(ScheduleSettings, "duration_s")
    freeze: bool = like(ScheduleSettings, "freeze")
    min_replicas: int | None = like(ScheduleSettings, "min_replicas", le=MAX_LISTED_NODES)
    max_replicas: int | None = like(ScheduleSettings, "max_replicas", le=MAX_LISTED_NODES)
    RULES = (
        ValidationRule(
            cel="(has(self.freeze) && self.freeze) != (has(self.minReplicas) || has(self.maxReplicas))",
            message="expected either freeze or limits of replicas",
            holds=lambda it: it.freeze != (it.min_replicas is not None or it.max_replicas is not None),
        ),
        ValidationRule(
            cel="!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",
            message="expected minReplicas <= maxReplicas",
            holds=REPLICA_LIMITS.holds,
        ),
    )

    @model_validator(mode="after")
    def _check_schedule(self) -> Self:
        self.build()
        return self

    def build(self) -> ScalingSchedule:
        """Return the schedule."""
        return ScalingSchedule(**dict(self))


def _override_within(given: str, count: str) -> ValidationRule:
    return ValidationRule(
        cel="!has(self.override) || (has(oldSelf.override) && self.override == oldSelf.override) || "
        f"!({given}) || ({count} >= self.minReplicas && {count} <= self.maxReplicas)",
        message=f"expected {count.removeprefix('self.')} between minReplicas and maxReplicas",
    )


class StreamAutoscalerSpec(ResourcePart):
    """The desired scaling of one operator."""

    workflow: ShortName | None = None
    """Name of the workflow, formed by the operators of one namespace with the same name. Immutable. Default: the
    resource's name, a workflow of one operator."""
    upstream: Upstream = Field((), json_schema_extra=_SET)
    """StreamAutoscalers of the same workflow whose output this operator reads. Default: it reads a source of the
    workflow."""
    slo_s: Span = like(WorkflowSettings, "slo_s", description=None)
    """Latency objective: a row that is not yet processed is late from this age on; operators in sequence share it. Must
    be the same for all operators of a workflow. Default: one minute, the period."""
    driver: DriverSpec = DriverSpec()
    """The Spark driver."""
    min_replicas: int = like(OperatorSettings, "min_replicas", le=MAX_LISTED_NODES)
    max_replicas: int = like(OperatorSettings, "max_replicas", le=MAX_LISTED_NODES)
    batch_cap: BatchCapSpec | None = None
    """Maximum rows of one micro-batch. Default: the query has no cap."""
    node_pool: LabelSelector = LabelSelector()
    """Nodes that may hold an executor. Default: all nodes."""
    executor: ExecutorSpec = ExecutorSpec()
    """Further constraints on the nodes of executors."""
    kafka: KafkaSettings | None = like(OperatorSettings, "kafka")
    latency_map: LatencyMapSpec = LatencyMapSpec()
    """Latency map. Must be the same for all operators of a workflow."""
    monitor: MonitorSpec = MonitorSpec()
    """Metrics, and how often they are read. Must be the same for all operators of a workflow."""
    policy: PolicySpec = PolicySpec()
    """Scaling policy. Must be the same for all operators of a workflow."""
    reconfiguration: ReconfigurationSpec = ReconfigurationSpec()
    """How a change of replicas is applied."""
    mode: Literal["Recommend", "DryRun", "Act"] = "Recommend"
    """Recommend: decide and report only. DryRun: also send the order as a dry run. Act: scale. Default: nothing changes
    until scaling is enabled."""
    pause: PauseSpec | None = None
    """Pause of all changes; takes precedence over an override. Default: not paused."""
    override: OverrideSpec | None = None
    """Manual override. Default: the policy decides."""
    replicas: int = Field(0, ge=0)
    """Number of replicas that another scaler sets through the scale subresource, such as kubectl scale, an HPA or KEDA;
    the latency map chooses the nodes, within minReplicas and maxReplicas. Default: 0, the policy decides."""
    schedules: tuple[ScheduleSpec, ...] = like(OperatorSettings, "schedules")
    RULES = (
        *map(rule_of, Settings.CONSTRAINTS),
        rule_of(REPLICA_LIMITS),
        # Only of an override that is changed: one that has expired must not block a change of the limits.
        _override_within("has(self.override.replicas)", "self.override.replicas"),
        _override_within("has(self.override.nodes) && size(self.override.nodes) > 0", "size(self.override.nodes)"),
    )
