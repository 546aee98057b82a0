"""Groups of the spec that a workflow's operators share: monitor, policy and latency map."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, ValidationError

from gesscale.common.errors import InvalidValueError
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
from gesscale.options import PolicyOptions
from gesscale.policies import policy_names
from gesscale.policies.registry import policy_info
from gesscale.settings.analyze import AnalyzeSettings
from gesscale.settings.groups import MonitorSettings
from gesscale.settings.latency_map import RENEWED_IN_TIME, LatencyMapSettings, Place
from gesscale.settings.problems import setting_problems
from gesscale.validation import located
from latency_map import Asymmetry, DelayKind, DelayUnit

_SETTINGS = "spec.policy.settings"
#: The headless Service of deploy/k3s/latency-agent.
AGENTS_DNS = "latency-agents.gesscale:9109"
#: Limit of a policy's own settings, which the controller validates after each change of a resource.
MAX_POLICY_SETTINGS_CHARS = 65_536


def _policy(value: str) -> str:
    if value not in policy_names():
        raise InvalidValueError("policy-not-available", policy=value, known=sorted(policy_names()))
    return value


class MonitorSpec(ResourcePart):
    """Metrics, and how often they are read."""

    source: Literal["Driver", "Prometheus"] = like(MonitorSettings, "source", default="Driver")
    prometheus_url: Address | None = like(MonitorSettings, "prometheus_url", description=None)
    """The Prometheus server: a Service of the namespace, or a host that the administrator allows. Default: none;
    source Prometheus requires one."""
    period_s: PeriodSpan = like(MonitorSettings, "period_s")
    min_period_s: PeriodSpan = like(MonitorSettings, "min_period_s")
    window_s: Span = like(MonitorSettings, "window_s")
    history_s: HistorySpan = like(MonitorSettings, "history_s")
    stale_after_s: Span = like(MonitorSettings, "stale_after_s")
    timeout_s: TimeoutSpan = like(MonitorSettings, "timeout_s")
    RULES = tuple(map(rule_of, MonitorSettings.CONSTRAINTS))

    def settings(self) -> MonitorSettings:
        """Return the settings of the monitor; the nodes of hosts come from the cluster."""
        given = {**dict(self), "source": self.source.lower()}
        return MonitorSettings.model_validate(given, by_name=True)


class PolicySpec(ResourcePart):
    """A scaling policy and its settings."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=63), AfterValidator(_policy)] = like(
        AnalyzeSettings, "policy", description=None
    )
    """A policy that the controller has; `gesscale policies list` lists them. The default has the lowest cost on the
    arena's loads; gesscale-2021 is the paper's policy."""
    own_settings: dict[str, Any] = Field(
        default_factory=dict, alias="settings", json_schema_extra={"x-kubernetes-preserve-unknown-fields": True}
    )
    """Settings of this policy, with the names and units of a settings file, such as `{late_minute_price: 20}` for
    `gesscale` or `{cooldown: 3m}` for `daedalus`: docs/reference/settings.md. The controller validates them; invalid
    ones set the condition SettingsInvalid. Default: the defaults of the policy."""

    def settings(self) -> AnalyzeSettings:
        """Return the settings of Analyze.

        Raises
        ------
        SettingsError
            The policy has no such settings, or they are invalid.
        """
        info = policy_info(self.name)
        count = len(json.dumps(self.own_settings))
        if count > MAX_POLICY_SETTINGS_CHARS:
            limit = MAX_POLICY_SETTINGS_CHARS
            raise SettingsError("policy-settings-oversized", place=_SETTINGS, limit=limit, count=count)
        shared = {PolicyOptions.model_fields[name].alias or name for name in info.accepts}
        common = {key: value for key, value in self.own_settings.items() if key in shared}
        own = {key: value for key, value in self.own_settings.items() if key not in shared}
        if own and info.settings is None:
            fields = {"policy": self.name, "got": list(own), "known": sorted(shared) or ["none"]}
            raise SettingsError("policy-without-settings", place=_SETTINGS, **fields)
        given = {"policy": self.name, **dict(_given(common, PolicyOptions))}
        if info.settings is not None:
            given[info.group] = _validated(own, info.settings)
        return AnalyzeSettings.model_validate(given, by_name=True)


def _given(common: Mapping[str, Any], kind: type[PolicyOptions]) -> Iterator[tuple[str, Any]]:
    """Yield the shared settings that are given, by their names in code."""
    settings = _validated(common, kind)
    return ((name, getattr(settings, name)) for name in settings.model_fields_set)


def _validated(own: Mapping[str, Any], kind: type[BaseModel]) -> BaseModel:
    """Validate a policy's own settings."""
    try:
        settings = kind.model_validate(own)
    except ValidationError as error:
        raise SettingsError(located(setting_problems(error, (), kind), _SETTINGS)) from None
    except Exception as error:  # noqa: BLE001  # a policy's package may validate its settings with code of any kind
        cause = describe_exception(error)
        raise SettingsError("policy-settings-invalid", place=_SETTINGS, cause=cause) from None
    for path in _files_in(settings):
        raise SettingsError("policy-settings-file", place=f"{_SETTINGS}.{path}")
    return settings


def _files_in(value: object) -> Iterator[str]:
    """Yield the paths to values that name a file."""
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
    """A latency map in a ConfigMap of the namespace, in any format of `gesscale latency-map import`."""

    name: DnsName
    """Name of the ConfigMap. The owner of the namespace must allow the controller to read it:
    docs/howto/k3s.md."""
    key: Annotated[str, StringConstraints(pattern=r"^[-._a-zA-Z0-9]+$", min_length=1, max_length=253)] = "latency.csv"
    """Key in the ConfigMap. Default: the key that `kubectl create configmap NAME --from-file=latency.csv` creates."""
    unit: DelayUnit | None = like(LatencyMapSettings, "unit")
    kind: DelayKind | None = like(LatencyMapSettings, "kind")


class LatencyMapSpec(ResourcePart):
    """Source of the latency map."""

    source: Literal["Agents", "Prometheus", "ConfigMap"] = "Agents"
    """Source of the map: the agents of `gesscale latency-map agent`, the Prometheus server that scrapes them, or a
    ConfigMap, read again after each change. Default: the agents, which deploy/k3s includes."""
    agents_dns: Place = like(LatencyMapSettings, "agents_dns", default=AGENTS_DNS, description=None)
    """HOST:PORT of all agents: a Service of the namespace, or a host that the administrator allows. Default: the
    headless Service of deploy/k3s, which is allowed."""
    prometheus_url: Address | None = like(LatencyMapSettings, "prometheus_url")
    config_map: ConfigMapSpec | None = None
    """ConfigMap with the map. Default: none; source ConfigMap requires one."""
    refresh_s: Span = like(LatencyMapSettings, "refresh_s", description=None)
    """Time after which the map is read again. Default: delays change more slowly, and reading many agents costs
    traffic."""
    max_age_s: SpanOrNever = like(LatencyMapSettings, "max_age_s", description=None)
    """Age from which a map is stale, unless Never: no replica is removed, and readings under it are not used. Default:
    a day, the rhythm of the load on shared links."""
    asymmetry: Asymmetry | None = like(LatencyMapSettings, "asymmetry")
    RULES = (
        rule_of(Requires(("source", "config_map"), ("config_map",), example="{name: latency-map}")),
        rule_of(replace(RENEWED_IN_TIME, unless=("source", "config_map")), may_be_never=True),
    )
