"""What the operators of a workflow share: monitor, policy, latency map; with the defaults of the settings."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, ValidationError

from gesscale.constraints import Requires
from gesscale.errors import SettingsError
from gesscale.formatting import describe_exception
from gesscale.kubernetes.resource.parts import (
    Address,
    DnsName,
    HistorySpan,
    PeriodSpan,
    ResourcePart,
    Span,
    SpanOrNever,
    TimeoutSpan,
    like,
    rule_of,
)
from gesscale.policies import policy_names
from gesscale.policies.gesscale2.settings import Gesscale2Settings
from gesscale.policies.registry import policy_info
from gesscale.settings.analyze import AnalyzeSettings
from gesscale.settings.groups import MonitorSettings
from gesscale.settings.latency_map import RENEWED_IN_TIME, LatencyMapSettings, Place
from gesscale.settings.problems import setting_problems
from latency_map import Asymmetry, DelayKind, DelayUnit

#: The headless service of deploy/k3s/latency-agent.
AGENTS_DNS = "latency-agents.gesscale:9109"
#: Of a policy's own settings: the controller checks them again whenever a resource changes.
OWN_SETTINGS_CHARACTERS = 65_536


def _policy(value: str) -> str:
    if value not in policy_names():
        raise ValueError(f"expected one of {', '.join(policy_names())}")
    return value


class MonitorSpec(ResourcePart):
    """What is read, and how often."""

    source: Literal["Driver", "Prometheus"] = like(MonitorSettings, "source", default="Driver")
    prometheus_url: Address | None = like(MonitorSettings, "prometheus_url", description=None)
    """The Prometheus server: a Service of the namespace, or a host that the administrator allows. Default: none;
    source Prometheus needs one."""
    period_s: PeriodSpan = like(MonitorSettings, "period_s")
    min_period_s: PeriodSpan = like(MonitorSettings, "min_period_s")
    window_s: Span = like(MonitorSettings, "window_s")
    history_s: HistorySpan = like(MonitorSettings, "history_s")
    stale_after_s: Span = like(MonitorSettings, "stale_after_s")
    timeout_s: TimeoutSpan = like(MonitorSettings, "timeout_s")
    RULES = tuple(map(rule_of, MonitorSettings.CONSTRAINTS))

    def settings(self) -> MonitorSettings:
        """Return the settings of the monitor; which host is which node the cluster tells."""
        given = {**dict(self), "source": self.source.lower()}
        return MonitorSettings.model_validate(given, by_name=True)


class Gesscale2Spec(ResourcePart):
    """The settings of policy gesscale2."""

    slo_s: Span = like(Gesscale2Settings, "slo_s")
    late_minute_price: float = like(Gesscale2Settings, "late_minute_price")
    change_price: float = like(Gesscale2Settings, "change_price")


class PolicySpec(ResourcePart):
    """When an operator needs more or fewer replicas: a policy and its settings."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=63), AfterValidator(_policy)] = like(
        AnalyzeSettings, "policy", description=None
    )
    """A policy that the controller has; `gesscale policies` lists them. The default has the lowest cost on the arena's
    loads; gesscale is the paper's policy."""
    law: Literal["gesscale", "microbatch", "auto"] = like(AnalyzeSettings, "law")
    back_pressure_threshold: float = like(AnalyzeSettings, "back_pressure_threshold")
    headroom_threshold_pct: float = like(AnalyzeSettings, "headroom_threshold_pct")
    recovery_target_s: Span = like(AnalyzeSettings, "recovery_target_s")
    stabilization_window_s: Span | None = like(AnalyzeSettings, "stabilization_window_s")
    reading_max_age_s: SpanOrNever = like(AnalyzeSettings, "reading_max_age_s", description=None)
    """Evidence older than this is left out, unless Never. Default: a week, the longest rhythm that loads usually
    have."""
    reading_half_life_s: SpanOrNever = like(AnalyzeSettings, "reading_half_life_s", description=None)
    """Age at which evidence counts half; Never: age does not count. Default: a day, so that yesterday's cycle still
    tells."""
    cpu_high_pct: float = like(AnalyzeSettings, "cpu_high_pct")
    cpu_low_pct: float = like(AnalyzeSettings, "cpu_low_pct")
    seed: int = like(AnalyzeSettings, "seed")
    node_choice: Literal["random", "nearest"] = like(AnalyzeSettings, "node_choice")
    gesscale2: Gesscale2Spec | None = None
    """Of `gesscale2`."""
    own_settings: dict[str, Any] = Field(
        default_factory=dict, alias="settings", json_schema_extra={"x-kubernetes-preserve-unknown-fields": True}
    )
    """The own settings of any other policy, by the names and in the units of a settings file, such as `{cooldown:
    3m}` for `daedalus`: docs/reference/settings.md. The controller checks them; one that it does not know gives the
    condition SettingsInvalid. Default: those of the policy."""
    RULES = tuple(map(rule_of, AnalyzeSettings.CONSTRAINTS))

    def settings(self) -> AnalyzeSettings:
        """Return the settings of Analyze.

        Raises
        ------
        SettingsError
            In one line, where the policy does not take its own settings as they are.
        """
        given = {name: value for name, value in self if name in AnalyzeSettings.model_fields}
        given |= {"policy": self.name, "gesscale2": dict(self.gesscale2 or {})}
        if self.own_settings:
            info = policy_info(self.name)
            if info.settings is None or info.settings is Gesscale2Settings:
                where = "they stand in spec.policy.gesscale2" if info.settings else "it has none of its own"
                raise SettingsError(f"spec.policy.settings: expected none for policy {self.name}: {where}")
            given[info.group] = _checked(self.own_settings, info.settings)
        return AnalyzeSettings.model_validate(given, by_name=True)


def _checked(own: Mapping[str, Any], kind: type[BaseModel]) -> BaseModel:
    """Check a policy's own settings, whoever wrote them."""
    if len(json.dumps(own)) > OWN_SETTINGS_CHARACTERS:
        raise SettingsError(f"spec.policy.settings: expected at most {OWN_SETTINGS_CHARACTERS} characters of JSON")
    try:
        settings = kind.model_validate(own)
    except ValidationError as error:
        raise SettingsError(
            "; ".join(f"spec.policy.settings.{fault}" for fault in setting_problems(error, (), kind))
        ) from None
    except Exception as error:  # noqa: BLE001  # a policy's package may check its settings with code of any kind
        raise SettingsError(f"spec.policy.settings: {describe_exception(error)}") from None
    for path in _files_in(settings):
        raise SettingsError(f"spec.policy.settings.{path}: a resource names no file of the controller")
    return settings


def _files_in(value: object) -> Iterator[str]:
    """Yield where a value or what it holds names a file."""
    members: Iterator[tuple[object, object]] = iter(())
    if isinstance(value, Path):
        yield ""
    elif isinstance(value, BaseModel):
        members = ((name, getattr(value, name)) for name in value.model_fields_set)
    elif isinstance(value, Mapping):
        members = iter(value.items())
    elif isinstance(value, Sequence) and not isinstance(value, str):
        members = iter(enumerate(value))
    for name, member in members:
        for path in _files_in(member):
            yield f"{name}.{path}".rstrip(".")


class ConfigMapSpec(ResourcePart):
    """A latency map in a ConfigMap of the namespace, in any form that `gesscale latency-map import` reads."""

    name: DnsName
    """Name of the ConfigMap. The controller reads it once the namespace's owner has granted it that:
    docs/howto/k3s.md."""
    key: Annotated[str, StringConstraints(pattern=r"^[-._a-zA-Z0-9]+$", min_length=1, max_length=253)] = "latency.csv"
    """Its key. Default: what `kubectl create configmap NAME --from-file=latency.csv` gives."""
    unit: DelayUnit | None = like(LatencyMapSettings, "unit")
    kind: DelayKind | None = like(LatencyMapSettings, "kind")


class LatencyMapSpec(ResourcePart):
    """How far apart the nodes are."""

    source: Literal["Agents", "Prometheus", "ConfigMap"] = "Agents"
    """Where the map is read: the agents of `gesscale latency-map agent`, the Prometheus server that scrapes them, or
    a ConfigMap (again whenever it changes). Default: the agents, which deploy/k3s brings."""
    agents_dns: Place = like(LatencyMapSettings, "agents_dns", default=AGENTS_DNS, description=None)
    """HOST:PORT that stands for all agents: a Service of the namespace, or a host that the administrator allows.
    Default: the headless service of deploy/k3s, which is allowed."""
    prometheus_url: Address | None = like(LatencyMapSettings, "prometheus_url")
    config_map: ConfigMapSpec | None = None
    """Where the map is kept. Default: none; source ConfigMap needs one."""
    refresh_s: Span = like(LatencyMapSettings, "refresh_s", description=None)
    """Time after which the source is asked again. Default: delays change more slowly, and asking many agents costs
    traffic."""
    max_age_s: SpanOrNever = like(LatencyMapSettings, "max_age_s", description=None)
    """Age from which a map is stale, unless Never: no replica is removed by it, and no evidence taken under it.
    Default: a day, the rhythm of the load on shared links."""
    asymmetry: Asymmetry | None = like(LatencyMapSettings, "asymmetry")
    RULES = (
        rule_of(Requires(("source", "config_map"), ("config_map",), example="{name: latency-map}")),
        rule_of(replace(RENEWED_IN_TIME, unless=("source", "config_map")), may_be_never=True),
    )
