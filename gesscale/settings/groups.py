"""Settings, one group per phase of the loop, each with its meaning and the reason of its default."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

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

#: Example of an address.
PROMETHEUS = "http://prometheus.monitoring:9090"


class MonitorSettings(SettingsGroup):
    """Monitoring: what is read, and how often."""

    CONSTRAINTS: ClassVar[tuple[Constraint, ...]] = (
        Ascending("window_s", "history_s", why="a longer history costs little"),
        Requires(("source", "prometheus"), ("prometheus_url",), example=PROMETHEUS),
    )

    source: Literal["driver", "prometheus"] = "driver"
    """Source of batches. Default: the drivers, which need no other service."""
    prometheus_url: WebAddress | None = None
    """The Prometheus server. Default: none; `source: prometheus` needs one."""
    hosts: Mapping[str, str] = Field({})
    """Node name by host address of a replica. Default: the names of the cluster, or else the addresses."""
    period_s: Period = 60.0
    """Time between two steps of the loop, at least a second. Default: a load changes within minutes."""
    min_period_s: Period = 5.0
    """Shortest time between two steps if a policy requests its next step early. `gesscale` requests three steps per
    objective. Default: as fast as Spark's metrics change."""
    window_s: Duration = 60.0
    """Time over which an operator is evaluated; at least two cycles of the query: trigger intervals, or batches if they
    are longer. Default: one period, so no batch counts twice."""
    history_s: History = 300.0
    """Time over which batches are read, at most 7 days; the newest ten are read however old they are. Default: five
    windows, enough for a change to settle; at least 5 min."""
    stale_after_s: Duration = 180.0
    """Age from which metrics are stale and cause no change; at least three cycles of the query. Default: three periods;
    at least 3 min."""
    timeout_s: Timeout = 5.0
    """Timeout of a request, at most 30 s. Default: above any round trip, far below a period."""

    @model_validator(mode="before")
    @classmethod
    def _follow_period(cls, document: Any) -> Any:
        """Derive the times that depend on the period, if only the period or the window is given."""
        if not isinstance(document, Mapping):
            return document
        try:
            period_s, window_s = (
                parse_duration_s(document[key]) if key in document else None for key in ("period", "window")
            )
        except ValueError:
            return document  # the fields report the error
        if period_s is None and window_s is None:
            return document
        period_s = period_s or cls.model_fields["period_s"].default
        window_s = window_s or min(period_s, MAX_HISTORY_S)
        history_s = max(cls.model_fields["history_s"].default, min(5 * window_s, MAX_HISTORY_S))
        stale_after_s = max(cls.model_fields["stale_after_s"].default, min(3 * period_s, MAX_DURATION_S))
        return {"window": window_s, "history": history_s, "stale_after": stale_after_s, **document}


class PlanSettings(SettingsGroup):
    """Planning: when the next change may be planned."""

    rescale_timeout_s: Duration = 300.0
    """Time after which a change that has not settled no longer blocks the next one. Default: well above the 120 s that
    a restart of a query takes."""
    max_changing_operators: int | None = Field(None, ge=1, le=10_000)
    """Maximum number of operators that change at the same time; the most urgent go first. Lost replicas are always
    restarted. Default: no limit, as operators do not stop each other."""
    exclude_nodes: tuple[str, ...] = ()
    """Nodes that take no new replica; replicas that run there stay. Default: none."""
    node_prices: Mapping[str, Annotated[float, Field(gt=0, le=1000)]] = {}
    """Price of a replica on a node for a minute, by node, relative to the price of the others. Default: that of the
    Node's label `gesscale.dev/node-price`, or 1."""


class ExecuteSettings(SettingsGroup):
    """Execution: whether changes are applied, and by which cluster adapter."""

    mode: Literal["recommend", "act"] = "recommend"
    """Whether changes are applied. Default: nothing is changed unless requested."""
    cluster: str = "none"
    """Cluster adapter, such as `local`. Default: none; `mode: act` needs one."""
    options: Mapping[str, str] = Field({})
    """Options of the adapter, by name. Default: none."""

    @model_validator(mode="after")
    def _check_cluster(self) -> Self:
        if self.mode == "act" and self.cluster == "none":
            raise InvalidValueError("cluster-required")
        return self


class KnowledgeSettings(SettingsGroup):
    """Knowledge: what is kept, and how much of it."""

    file: FilePath = Path("gesscale-knowledge.sqlite")
    """Relative to the settings file. A corrupt file is renamed and a new one created; only the owner
    may read it. Default: in the working directory."""
    readings_per_operator: int = Field(200, ge=1, le=10_000)
    """Maximum number of saturation readings. Default: 25 for each of eight replica counts."""
    models_per_operator: int = Field(100, ge=1, le=10_000)
    """Maximum number of versions of the model. Default: enough for its calibration, as small refits make no version."""
    decisions_per_operator: int = Field(10_000, ge=1, le=1_000_000)
    """Maximum number of decisions. Default: a week of periods of 60 s."""
    orders_per_operator: int = Field(200, ge=1, le=10_000)
    """Maximum number of orders. Default: over a day of the paper's worst policy, which gives 25 in 288 min."""

    def limits(self) -> KnowledgeLimits:
        """Return the limits of a knowledge store."""
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
    """The operators to scale."""
    latency_map: LatencyMapSettings
    """Round trips between the nodes."""
    monitor: MonitorSettings = MonitorSettings()
    """Monitoring."""
    analyze: AnalyzeSettings = AnalyzeSettings()
    """Analysis."""
    plan: PlanSettings = PlanSettings()
    """Planning."""
    execute: ExecuteSettings = ExecuteSettings()
    """Execution."""
    knowledge: KnowledgeSettings = KnowledgeSettings()
    """Knowledge."""

    @model_validator(mode="after")
    def _check_metrics(self) -> Self:
        silent = [name for name, item in self.workflow.operators.items() if item.metrics_url is None]
        if self.monitor.source == "driver" and silent:
            raise InvalidValueError("metrics-url-missing", operators=silent)
        return self
