"""What the operators of a workflow share: monitor, policy, latency map; with the defaults of the settings."""

from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from gesscale.conditions import Needs
from gesscale.kubernetes.resource.mirrored import part_like
from gesscale.kubernetes.resource.parts import (
    Address,
    HistorySpan,
    PeriodSpan,
    ResourcePart,
    Span,
    SpanOrNever,
    TimeoutSpan,
    as_settings,
    like,
    rule_of,
)
from gesscale.policies import policy_names
from gesscale.settings.analyze import AnalyzeSettings
from gesscale.settings.groups import MonitorSettings
from gesscale.settings.latency_map import RENEWED_IN_TIME, LatencyMapSettings
from latency_map import Asymmetry, DelayKind, DelayUnit
from latency_map.measure.places import split_place

AGENTS_DNS = "latency-agents.gesscale:9109"
"""The headless service of deploy/k3s/latency-agent."""


def _place(value: str) -> str:
    split_place(value)
    return value


Place = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9._\[\]:-]+$", min_length=1, max_length=320),
    AfterValidator(_place),
]


def _policy(value: str) -> str:
    if value not in policy_names():
        message = f"expected one of {', '.join(policy_names())}"
        raise ValueError(message)
    return value


class MonitorSpec(ResourcePart):
    """What is read, and how often."""

    source: Literal["Driver", "Prometheus"] = like(MonitorSettings, "source", default="Driver")
    prometheus_url: Address | None = like(
        MonitorSettings,
        "prometheus_url",
        description="The Prometheus server: a Service of the namespace, or a host that the administrator allows. "
        "Default: none; source Prometheus needs one.",
    )
    period_s: PeriodSpan = like(MonitorSettings, "period_s")
    least_period_s: PeriodSpan = like(MonitorSettings, "least_period_s")
    window_s: Span = like(MonitorSettings, "window_s")
    history_s: HistorySpan = like(MonitorSettings, "history_s")
    stale_after_s: Span = like(MonitorSettings, "stale_after_s")
    timeout_s: TimeoutSpan = like(MonitorSettings, "timeout_s")
    RULES = tuple(map(rule_of, MonitorSettings.CONDITIONS))

    def settings(self) -> MonitorSettings:
        """Return the settings of the monitor; which host is which node the cluster tells."""
        return MonitorSettings.model_validate(
            {**as_settings(self, MonitorSettings), "source": self.source.lower()}
        )


class _NamedPolicy(ResourcePart):
    """Which policy."""

    name: Annotated[str, AfterValidator(_policy)] = like(
        AnalyzeSettings, "policy", json_schema_extra={"enum": list(policy_names())}
    )


class PolicySpec(part_like(AnalyzeSettings, _NamedPolicy, without={"policy"})):  # type: ignore[misc]  # made at run time
    """When an operator needs more or fewer replicas: a policy and its settings."""

    reading_max_age_s: SpanOrNever = like(
        AnalyzeSettings,
        "reading_max_age_s",
        description="Evidence older than this is left out, unless Never. Default: a week, the longest rhythm that "
        "loads usually have.",
    )
    reading_half_life_s: SpanOrNever = like(
        AnalyzeSettings,
        "reading_half_life_s",
        description="Age at which evidence counts half; Never: age does not count. Default: a day, so that "
        "yesterday's cycle still tells.",
    )

    @model_validator(mode="after")
    def _check_members(self) -> Self:
        self.settings()  # says what members of a group must keep towards each other
        return self

    def settings(self) -> AnalyzeSettings:
        """Return the settings of Analyze."""
        return AnalyzeSettings.model_validate({**as_settings(self, AnalyzeSettings), "policy": self.name})


class ConfigMapSpec(ResourcePart):
    """A latency map in a ConfigMap of the namespace, in any form that `gesscale latency-map import` reads."""

    name: Annotated[
        str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", min_length=1, max_length=253)
    ] = Field(
        description="Name of the ConfigMap. The controller reads it once the namespace's owner has granted it that: "
        "docs/howto/k3s.md."
    )
    key: Annotated[str, StringConstraints(pattern=r"^[-._a-zA-Z0-9]+$", min_length=1, max_length=253)] = (
        Field(
            "latency.csv",
            description="Its key. Default: what `kubectl create configmap NAME --from-file=latency.csv` gives.",
        )
    )
    unit: DelayUnit | None = like(LatencyMapSettings, "unit")
    kind: DelayKind | None = like(LatencyMapSettings, "kind")


class LatencyMapSpec(ResourcePart):
    """How far apart the nodes are."""

    source: Literal["Agents", "Prometheus", "ConfigMap"] = Field(
        "Agents",
        description="Where the map is read: the agents of `gesscale latency-map agent`, the Prometheus server that "
        "scrapes them, or a ConfigMap (again whenever it changes). Default: the agents, which deploy/k3s brings.",
    )
    agents_dns: Place = like(
        LatencyMapSettings,
        "agents_dns",
        default=AGENTS_DNS,
        description="HOST:PORT that stands for all agents: a Service of the namespace, or a host that the "
        "administrator allows. Default: the headless service of deploy/k3s, which is allowed.",
    )
    prometheus_url: Address | None = like(LatencyMapSettings, "prometheus_url")
    config_map: ConfigMapSpec | None = Field(
        None, description="Where the map is kept. Default: none; source ConfigMap needs one."
    )
    refresh_s: Span = like(
        LatencyMapSettings,
        "refresh_s",
        description="Time after which the source is asked again. Default: delays change more slowly, and asking many "
        "agents costs traffic.",
    )
    max_age_s: SpanOrNever = like(
        LatencyMapSettings,
        "max_age_s",
        description="Age from which a map is stale, unless Never: no replica is removed by it, and no evidence taken "
        "under it. Default: a day, the rhythm of the load on shared links.",
    )
    asymmetry: Asymmetry | None = like(LatencyMapSettings, "asymmetry")
    RULES = (
        rule_of(Needs(("source", "config_map"), ("config_map",), hint="such as {name: latency-map}")),
        rule_of(replace(RENEWED_IN_TIME, unless=("source", "config_map")), may_be_never=True),
    )
