"""The settings, one group per phase of the loop; each says what it is and why its default is what it is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from gesscale.common.errors import InvalidValueError
from gesscale.constraints import Ascending, Constraint, Requires
from gesscale.fields import (
    MAX_DURATION_S,
    MAX_HISTORY_S,
    Duration,
    FilePath,
    History,
    Period,
    SettingsGroup,
    Timeout,
    WebAddress,
    parse_duration_s,
)
from gesscale.knowledge.memory import KnowledgeLimits
from gesscale.settings.analyze import AnalyzeSettings
from gesscale.settings.latency_map import LatencyMapSettings
from gesscale.settings.operators import WorkflowSettings

#: An address as an example.
PROMETHEUS = "http://prometheus.monitoring:9090"


class MonitorSettings(SettingsGroup):
    """What is read, and how often."""

    CONSTRAINTS: ClassVar[tuple[Constraint, ...]] = (
        Ascending("window_s", "history_s", why="a longer history costs little"),
        Requires(("source", "prometheus"), ("prometheus_url",), example=PROMETHEUS),
    )

    source: Literal["driver", "prometheus"] = "driver"
    """Where batches are read. Default: from the drivers, which needs no other service."""
    prometheus_url: WebAddress | None = None
    """The Prometheus server. Default: none; `source: prometheus` needs one."""
    hosts: Mapping[str, str] = Field({})
    """Node name by host address of a replica. Default: the cluster tells, else it is the address."""
    period_s: Period = 60.0
    """Time between two steps of the loop, at least a second. Default: paper IV-B."""
    min_period_s: Period = 5.0
    """A policy may ask for its next step sooner than after a period, but not sooner than this. `gesscale2` asks for
    three steps in the time of its `slo`. Default: what Spark's metrics can follow."""
    window_s: Duration = 60.0
    """Time over which an operator is judged. Default: one period, so none counts twice."""
    history_s: History = 300.0
    """How far back batches are read, at most 7 days. Default: five windows, enough to see a change settle; at least 5
    min."""
    stale_after_s: Duration = 180.0
    """Age beyond which figures are not acted on. Default: three periods missed; at least 3 min."""
    timeout_s: Timeout = 5.0
    """Time one request may take, at most 30 s. Default: above any round trip, far below a period."""

    @model_validator(mode="before")
    @classmethod
    def _follow_period(cls, given: Any) -> Any:
        """Give the times that follow from the period where only the period, or the window, is given."""
        if not isinstance(given, Mapping):
            return given
        try:
            period_s, window_s = (
                parse_duration_s(given[key]) if key in given else None for key in ("period", "window")
            )
        except ValueError:
            return given  # the fields say what is wrong
        if period_s is None and window_s is None:
            return given
        period_s = period_s or cls.model_fields["period_s"].default
        window_s = window_s or min(period_s, MAX_HISTORY_S)
        history_s = max(cls.model_fields["history_s"].default, min(5 * window_s, MAX_HISTORY_S))
        stale_after_s = max(cls.model_fields["stale_after_s"].default, min(3 * period_s, MAX_DURATION_S))
        return {"window": window_s, "history": history_s, "stale_after": stale_after_s, **given}


class PlanSettings(SettingsGroup):
    """When the next change may be planned."""

    rescale_timeout_s: Duration = 300.0
    """A change that has not settled after this time no longer blocks the next. Default: well above the 120 s that the
    paper's restarts take."""
    max_changing_operators: int | None = Field(None, ge=1, le=10_000)
    """So many operators may be in change at once; the most urgent go first, and the others wait. Lost replicas come
    back at any time. Default: any number, as the changes of one do not stop the others."""
    exclude_nodes: tuple[str, ...] = ()
    """Nodes that are to take no new replica. Default: none; what runs there stays."""


class ExecuteSettings(SettingsGroup):
    """What may be done, and where."""

    mode: Literal["recommend", "act"] = "recommend"
    """Whether changes are carried out. Default: nothing is touched until that is asked for."""
    cluster: str = "none"
    """Cluster adapter, such as `local`. Default: none; `mode: act` needs one."""
    options: Mapping[str, str] = Field({})
    """What that adapter needs to know, by name. Default: nothing."""

    @model_validator(mode="after")
    def _check_cluster(self) -> Self:
        if self.mode == "act" and self.cluster == "none":
            raise InvalidValueError("cluster-required")
        return self


class KnowledgeSettings(SettingsGroup):
    """What is remembered, and how much of it."""

    file: FilePath = Path("gesscale-knowledge.sqlite")
    """The knowledge file; a relative path in a settings file starts at that file. One that is corrupt is set aside; a
    new one only its owner may read. Default: in the working directory."""
    readings_per_operator: int = Field(200, ge=1, le=10_000)
    """Readings kept, saturated ones and others each. Default: 25 for each of eight replica counts."""
    models_per_operator: int = Field(100, ge=1, le=10_000)
    """Versions kept of the model. Default: small refits are no version, so these tell how it was calibrated."""
    decisions_per_operator: int = Field(10_000, ge=1, le=1_000_000)
    """Decisions kept. Default: a week of periods of 60 s."""
    orders_per_operator: int = Field(200, ge=1, le=10_000)
    """Orders kept. Default: over a day at the 25 in 288 min of the paper's worst policy."""

    def limits(self) -> KnowledgeLimits:
        """Return how much a store keeps."""
        return KnowledgeLimits(**self.model_dump(exclude={"file"}))


class Settings(SettingsGroup):
    """All settings of one auto-scaler."""

    CONSTRAINTS: ClassVar[tuple[Constraint, ...]] = (
        Requires(
            ("latency_map.source", "prometheus"),
            ("latency_map.prometheus_url", "monitor.prometheus_url"),
            example=PROMETHEUS,
        ),
    )

    workflow: WorkflowSettings
    """What is scaled."""
    latency_map: LatencyMapSettings
    """How far apart the nodes are."""
    monitor: MonitorSettings = MonitorSettings()
    """What is read, and how often."""
    analyze: AnalyzeSettings = AnalyzeSettings()
    """When replicas are needed or not."""
    plan: PlanSettings = PlanSettings()
    """When the next change may be planned."""
    execute: ExecuteSettings = ExecuteSettings()
    """What may be done, and where."""
    knowledge: KnowledgeSettings = KnowledgeSettings()
    """What is remembered."""

    @model_validator(mode="after")
    def _check_metrics(self) -> Self:
        silent = [name for name, item in self.workflow.operators.items() if item.metrics_url is None]
        if self.monitor.source == "driver" and silent:
            raise InvalidValueError("metrics-url-missing", operators=silent)
        return self
