"""What people want of one operator: the ``spec`` of a StreamAutoscaler."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema

from gesscale.kubernetes.resource.parts import (
    NODES_AT_MOST,
    Address,
    Instant,
    NodeName,
    ResourcePart,
    ShortName,
    Span,
    ValidationRule,
    like,
    rule_of,
)
from gesscale.kubernetes.resource.spec_groups import LatencyMapSpec, MonitorSpec, PolicySpec
from gesscale.model.workflow import REPLICA_LIMITS
from gesscale.settings.groups import PlanSettings, Settings
from gesscale.settings.operators import KafkaSettings, OperatorSettings

LabelKey = Annotated[
    str,
    StringConstraints(pattern=r"^([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$", max_length=317),
]
LabelValue = Annotated[
    str, StringConstraints(pattern=r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$", max_length=63)
]


class Requirement(ResourcePart):
    """What one label must be."""

    key: LabelKey
    """The label."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How the label compares with the values; a node without the label fulfils NotIn."""
    values: tuple[LabelValue, ...] = Field((), max_length=64)
    """For In and NotIn, at least one; for the others none."""
    RULES = (
        ValidationRule(
            cel="(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
            message="operator In or NotIn needs values, Exists or DoesNotExist takes none",
            holds=lambda it: (it.operator in {"In", "NotIn"}) == bool(it.values),
        ),
    )


class LabelSelector(ResourcePart):
    """What all labels must be; an empty selector fits everything."""

    match_labels: dict[str, LabelValue] = Field(default_factory=dict, max_length=32)
    """Labels that must have exactly these values."""
    match_expressions: tuple[Requirement, ...] = Field((), max_length=32)
    """Further requirements; all must hold."""


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
        raise ValueError("expected every name once")
    return names


NodeNames = Annotated[tuple[NodeName, ...], Field(max_length=NODES_AT_MOST), AfterValidator(_distinct)]
Upstream = Annotated[tuple[ShortName, ...], Field(max_length=64), AfterValidator(_distinct)]
Architecture = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+$", min_length=1, max_length=16)]
Architectures = Annotated[tuple[Architecture, ...], Field(max_length=8), AfterValidator(_distinct)]


class DriverSpec(ResourcePart):
    """Where the Spark driver is: a pod that is found by its labels, or a process outside the cluster."""

    selector: LabelSelector | None = None
    """Labels of the driver pod. Default: gesscale.dev/autoscaler=NAME and spark-role=driver, which spark-submit sets
    with the setting spark.kubernetes.driver.label.gesscale.dev/autoscaler=NAME."""
    port: int = Field(METRICS_PORT, ge=1, le=65535)
    """Port of the driver pod where gesscale.spark publishes batches. Default: its own default."""
    node: NodeName | None = None
    """Node of a driver outside the cluster; it counts towards NDmax. Default: the driver is a pod."""
    metrics_url: Address | None = None
    """Where a driver outside the cluster publishes batches: a Service of the namespace, or a host that the
    administrator allows. Default: the driver is a pod."""
    RULES = (
        ValidationRule(
            cel="has(self.node) == has(self.metricsUrl)",
            message="a driver outside the cluster needs both node and metricsUrl; a driver pod neither",
            holds=lambda it: (it.node is None) == (it.metrics_url is None),
        ),
        ValidationRule(
            cel="!(has(self.selector) && has(self.node))",
            message="expected a selector of the driver pod, or node and metricsUrl of a driver outside, not both",
            holds=lambda it: it.selector is None or it.node is None,
        ),
    )


class BatchCapSpec(ResourcePart):
    """The cap on the rows of one micro-batch: fixed, or growing with the replicas."""

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
    """What one executor asks of its node."""

    cpu: Quantity | None = None
    """CPUs, such as 500m. Default: what a running executor of this operator asks."""
    memory: Quantity | None = None
    """Memory, such as 900Mi. Default: what a running executor of this operator asks."""


class ExecutorSpec(ResourcePart):
    """Which nodes can take an executor, besides the pool."""

    requests: RequestsSpec = RequestsSpec()
    """What one executor asks of its node; a node needs so much free."""
    architectures: Architectures = Field((), json_schema_extra=_SET)
    """Architectures of the image, such as arm64 and amd64. Default: those of the nodes on which driver and executors
    run."""
    exclude_nodes: NodeNames = like(PlanSettings, "exclude_nodes", json_schema_extra=_SET)


class ReconfigurationSpec(ResourcePart):
    """How replicas are exchanged."""

    strategy: Literal["Live", "Restart"] = "Live"
    """Live: executors come and go under the running query. Restart: the query stops at a checkpoint and starts on the
    new placement. Default: Live, which stops nothing; Restart is for jobs whose state or Kafka partitions cap the
    useful replicas."""
    rescale_timeout_s: Span = like(PlanSettings, "rescale_timeout_s")


class PauseSpec(ResourcePart):
    """No change for the time being; figures and advice go on."""

    until_s: Instant | None = None
    """When it ends. Default: when it is taken out of the resource."""
    reason: Annotated[str, StringConstraints(max_length=256)] = ""
    """Why, for those who read it later. Default: no reason."""


class OverrideSpec(ResourcePart):
    """Replicas that a person asks for, whatever the policy concludes."""

    replicas: int | None = Field(None, ge=1, le=NODES_AT_MOST)
    """How many, on nodes that are chosen by the latency map. Default: the nodes are named."""
    nodes: NodeNames = Field((), json_schema_extra=_SET)
    """On which nodes, one each. Default: their number is given."""
    until_s: Instant
    """When it ends; required, so that none is forgotten."""
    RULES = (
        ValidationRule(
            cel="has(self.replicas) != (has(self.nodes) && size(self.nodes) > 0)",
            message="expected either replicas or nodes",
            holds=lambda it: (it.replicas is None) == bool(it.nodes),
        ),
    )

    @property
    def count(self) -> int:
        """How many replicas it asks for."""
        return len(self.nodes) if self.replicas is None else self.replicas


class StreamAutoscalerSpec(ResourcePart):
    """What people want of one operator."""

    workflow: ShortName | None = None
    """Name of the workflow; operators of one namespace that name the same one form it. Cannot be changed. Default:
    the resource's own name, a workflow of one operator."""
    upstream: Upstream = Field((), json_schema_extra=_SET)
    """StreamAutoscalers of the same workflow whose output this operator reads. Default: it reads a source of the
    workflow."""
    driver: DriverSpec = DriverSpec()
    """Where the Spark driver is."""
    min_replicas: int = like(OperatorSettings, "min_replicas", le=NODES_AT_MOST)
    max_replicas: int = like(OperatorSettings, "max_replicas", le=NODES_AT_MOST)
    batch_cap: BatchCapSpec | None = None
    """The cap on the rows of one micro-batch. Default: the query has none."""
    node_pool: LabelSelector = LabelSelector()
    """Nodes that may hold an executor. Default: all nodes."""
    executor: ExecutorSpec = ExecutorSpec()
    """Which nodes can take an executor, besides the pool."""
    kafka: KafkaSettings | None = like(OperatorSettings, "kafka")
    latency_map: LatencyMapSpec = LatencyMapSpec()
    """How far apart the nodes are. The same for all operators of a workflow."""
    monitor: MonitorSpec = MonitorSpec()
    """What is read, and how often. The same for all operators of a workflow."""
    policy: PolicySpec = PolicySpec()
    """When replicas are needed or not. The same for all operators of a workflow."""
    reconfiguration: ReconfigurationSpec = ReconfigurationSpec()
    """How replicas are exchanged."""
    mode: Literal["Recommend", "DryRun", "Act"] = "Recommend"
    """Recommend: decide and report only. DryRun: send the order too, but let the API server keep nothing of it. Act:
    scale. Default: nothing is touched until that is asked for."""
    pause: PauseSpec | None = None
    """No change for the time being; comes before an override. Default: not paused."""
    override: OverrideSpec | None = None
    """Replicas that a person asks for. Default: the policy decides."""
    RULES = (
        *map(rule_of, Settings.CONSTRAINTS),
        rule_of(REPLICA_LIMITS),
        ValidationRule(
            cel="!has(self.override) || !has(self.override.replicas) || "
            "(self.override.replicas >= self.minReplicas && self.override.replicas <= self.maxReplicas)",
            message="expected override.replicas between minReplicas and maxReplicas",
            holds=lambda it: _within(it, it.override and it.override.replicas),
        ),
        ValidationRule(
            cel="!has(self.override) || !has(self.override.nodes) || size(self.override.nodes) == 0 || "
            "(size(self.override.nodes) >= self.minReplicas && size(self.override.nodes) <= self.maxReplicas)",
            message="expected between minReplicas and maxReplicas names in override.nodes",
            holds=lambda it: _within(it, it.override and len(it.override.nodes)),
        ),
    )


def _within(spec: StreamAutoscalerSpec, replicas: int | None) -> bool:
    return not replicas or spec.min_replicas <= replicas <= spec.max_replicas
