"""Settings of the operators and of the workflow that they form."""

from collections.abc import Mapping
from typing import Self

from pydantic import Field, model_validator

from gesscale.common.errors import InvalidValueError
from gesscale.fields import MAX_EXACT_INTEGER, Duration, SettingsGroup, WebAddress
from gesscale.model.schedule import MAX_SCHEDULE_S, ScalingSchedule
from gesscale.model.workflow import DEFAULT_SLO_S, BatchCap, Operator, Workflow
from gesscale.wire import MAX_REPLICAS


class KafkaSettings(SettingsGroup):
    """Kafka topic that is the source of an operator."""

    bootstrap: str = Field(min_length=1, max_length=2048)
    """Brokers as host:port, separated by commas (bootstrapServers of KEDA); in a resource only Services of its
    namespace and hosts that the administrator allows."""
    topic: str = Field(min_length=1, max_length=249)
    """Topic that the operator reads."""


class ScheduleSettings(SettingsGroup):
    """A time that recurs, in which changes are frozen or the replicas have other limits."""

    cron: str = Field(min_length=9, max_length=128)
    """Start, a cron expression of five fields."""
    time_zone: str = Field("UTC", min_length=1, max_length=64)
    """Time zone of the expression, a name of the IANA database, such as Europe/Berlin. Default: UTC."""
    duration_s: Duration = Field(le=MAX_SCHEDULE_S)
    """Duration, at most a week."""
    freeze: bool = False
    """Whether no replica is added or removed. Default: the schedule has limits of replicas."""
    min_replicas: int | None = Field(None, ge=1, le=MAX_REPLICAS)
    """Minimum number of replicas, within the operator's limits. Default: the operator's."""
    max_replicas: int | None = Field(None, ge=1, le=MAX_REPLICAS)
    """Maximum number of replicas, within the operator's limits; if schedules contradict each other, the minimum takes
    precedence. Default: the operator's."""

    @model_validator(mode="after")
    def _check_schedule(self) -> Self:
        self.build()
        return self

    def build(self) -> ScalingSchedule:
        """Return the schedule."""
        return ScalingSchedule(**dict(self))


class OperatorSettings(SettingsGroup):
    """One operator of the workflow; its key is its name."""

    driver_node: str
    """Node that runs the Spark driver; it counts towards NDmax."""
    upstream: tuple[str, ...] = ()
    """Operators whose output this one reads. Default: none; it reads a source of the workflow."""
    min_replicas: int = Field(1, ge=1, le=MAX_REPLICAS)
    """Minimum number of replicas. Default: an operator always runs."""
    max_replicas: int = Field(8, ge=1, le=MAX_REPLICAS)
    """Maximum number of replicas, each on its own node: a second one on a node would share its link and its failure.
    More than the eligible nodes have no effect. Default: 8, a small edge cluster."""
    batch_cap_rows: int | None = Field(None, ge=1, le=MAX_EXACT_INTEGER)
    """Maximum number of rows of a micro-batch. Default: none; the query has no fixed cap."""
    batch_cap_rows_per_replica: int | None = Field(None, ge=1, le=MAX_EXACT_INTEGER)
    """The same per replica, if the cap grows with the replicas. Default: none."""
    trigger_s: Duration | None = None
    """Trigger interval of the query, for `gesscale config validate`: it warns of an objective that is too short for it.
    Decisions use the interval that the driver reports. Default: not known."""
    metrics_url: WebAddress | None = None
    """Address at which the driver publishes batches; `monitor.source: driver` needs it. Default: none."""
    schedules: tuple[ScheduleSettings, ...] = Field((), max_length=16)
    """Times that recur, in which changes are frozen or the replicas have other limits. Default: none."""
    kafka: KafkaSettings | None = None
    """Topic of the operator. Its broker reports the rows since the newest batch, which then belong to load and backlog.
    Default: none; the load is known up to the start of the newest batch."""

    @model_validator(mode="after")
    def _check_cap(self) -> Self:
        if self.batch_cap_rows is not None and self.batch_cap_rows_per_replica is not None:
            raise InvalidValueError("batch-cap-ambiguous")
        return self

    def build(self, name: str) -> Operator:
        """Return the operator of this name.

        Raises
        ------
        InputError
            If its limits contradict each other.
        """
        rows, per_replica = self.batch_cap_rows or 0, self.batch_cap_rows_per_replica or 0
        return Operator(
            name=name,
            driver_node=self.driver_node,
            upstream=self.upstream,
            min_replicas=self.min_replicas,
            max_replicas=self.max_replicas,
            cap=BatchCap(rows=rows, rows_per_replica=per_replica) if rows or per_replica else None,
            schedules=tuple(each.build() for each in self.schedules),
        )


class WorkflowSettings(SettingsGroup):
    """The operators to scale, and how old their rows may be."""

    operators: Mapping[str, OperatorSettings]
    """The operators by name, at least one."""
    slo_s: Duration = DEFAULT_SLO_S
    """Latency objective: a row that is not yet processed is late from this age on; operators in sequence share it.
    Default: one minute, the period."""

    @model_validator(mode="after")
    def _check_workflow(self) -> Self:
        self.build()
        return self

    def build(self) -> Workflow:
        """Return the workflow.

        Raises
        ------
        InputError
            If an upstream operator is missing, streams form a cycle, or limits contradict each other.
        """
        return Workflow((operator.build(name) for name, operator in self.operators.items()), self.slo_s)
