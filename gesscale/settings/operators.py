"""Settings of what is scaled: operators and the workflow they form."""

from collections.abc import Mapping
from typing import Self

from pydantic import Field, model_validator

from gesscale.common.errors import InvalidValueError
from gesscale.fields import MAX_EXACT_INTEGER, SettingsGroup, WebAddress
from gesscale.model.workflow import BatchCap, Operator, Workflow
from gesscale.wire import MAX_REPLICAS


class KafkaSettings(SettingsGroup):
    """Where an operator's source is a Kafka topic."""

    bootstrap: str = Field(min_length=1, max_length=2048)
    """Brokers as host:port, separated by commas; in a resource Services of its namespace, or hosts that the
    administrator allows."""
    topic: str = Field(min_length=1, max_length=249)
    """The topic the operator reads."""


class OperatorSettings(SettingsGroup):
    """One operator of the workflow; its key is its name."""

    driver_node: str
    """Node of the latency map that runs the Spark driver; it counts towards NDmax."""
    upstream: tuple[str, ...] = ()
    """Operators whose output this one reads. Default: it reads a source of the workflow."""
    min_replicas: int = Field(1, ge=1, le=MAX_REPLICAS)
    """Fewest replicas. Default: an operator always runs."""
    max_replicas: int = Field(8, ge=1, le=MAX_REPLICAS)
    """Most replicas. Default: the workers of the paper's test bed."""
    batch_cap_rows: int | None = Field(None, ge=1, le=MAX_EXACT_INTEGER)
    """Rows that one micro-batch takes at most. Default: the query has no fixed cap."""
    batch_cap_rows_per_replica: int | None = Field(None, ge=1, le=MAX_EXACT_INTEGER)
    """The same where the cap grows with the replicas. Default: it does not."""
    metrics_url: WebAddress | None = None
    """Where the driver publishes batches; `monitor.source: driver` needs it. Default: none."""
    kafka: KafkaSettings | None = None
    """The operator's topic, for the offered load. Default: the driver tells it."""

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
            When its limits contradict each other.
        """
        rows, per_replica = self.batch_cap_rows or 0, self.batch_cap_rows_per_replica or 0
        return Operator(
            name=name,
            driver_node=self.driver_node,
            upstream=self.upstream,
            min_replicas=self.min_replicas,
            max_replicas=self.max_replicas,
            cap=BatchCap(rows=rows, rows_per_replica=per_replica) if rows or per_replica else None,
        )


class WorkflowSettings(SettingsGroup):
    """What is scaled."""

    operators: Mapping[str, OperatorSettings]
    """The operators by name, at least one."""

    @model_validator(mode="after")
    def _check_workflow(self) -> Self:
        self.build()
        return self

    def build(self) -> Workflow:
        """Return the workflow.

        Raises
        ------
        InputError
            When an upstream operator is missing, streams form a cycle, or limits contradict each other.
        """
        return Workflow(operator.build(name) for name, operator in self.operators.items())
