"""Translation of resources to workflows for the loop; an invalid workflow does not stop the others."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from gesscale.common.errors import Problem
from gesscale.errors import InputError, SettingsError
from gesscale.formatting import key_path
from gesscale.kubernetes.resource.autoscaler import (
    AUTOSCALER_LABEL,
    DRIVER_LABELS,
    SINGULAR,
    StreamAutoscaler,
    namespaced_name,
    read_autoscaler,
    source_of,
)
from gesscale.kubernetes.resource.spec import LabelSelector
from gesscale.kubernetes.resource.spec_groups import LatencyMapSpec
from gesscale.model.workflow import BatchCap, Operator, Workflow
from gesscale.plan.directives import Directive, Override, Pause
from gesscale.settings.analyze import AnalyzeSettings
from gesscale.settings.groups import MonitorSettings, Settings
from gesscale.settings.operators import ScheduleSettings
from gesscale.wire import Strategy, group_of, text_of

#: Namespace and name, of a resource or of a workflow.
Key = tuple[str, str]

#: Maximum operators per workflow; each is read in its own thread.
MAX_OPERATORS = 64


class FaultReason(StrEnum):
    """Reason why a resource is invalid, and reason of its condition Ready."""

    SPEC_INVALID = "SpecInvalid"
    SETTINGS_INVALID = "SettingsInvalid"
    SETTINGS_DIFFER = "SettingsDiffer"
    UPSTREAM_UNKNOWN = "UpstreamUnknown"
    WORKFLOW_TOO_LARGE = "WorkflowTooLarge"
    WORKFLOW_CYCLIC = "WorkflowCyclic"
    WORKFLOW_BROKEN = "WorkflowBroken"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFault:
    """Fault of a resource that cannot be applied: the reason of its condition, and the problems."""

    reason: FaultReason
    problems: tuple[Problem, ...]

    @property
    def message(self) -> str:
        """The problems in sentences; only the first one begins with the resource."""
        first, *others = self.problems
        return "; ".join(map(str, (first, *(Problem(each.code, {**each.fields, "source": ""}) for each in others))))


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverEndpoint:
    """Node and address of an operator's Spark driver; empty if unknown."""

    #: The node it runs on.
    node: str = ""
    #: Address where it publishes batches.
    metrics_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedWorkflow:
    """The resources of one workflow, with equal shared settings."""

    #: Namespace and name of the workflow.
    namespace: str
    name: str
    #: Resources by operator name (the resource's name); never empty.
    resources: Mapping[str, StreamAutoscaler]

    @property
    def policy_settings(self) -> AnalyzeSettings:
        """The policy and its settings."""
        return self._first.spec.policy.settings()

    @property
    def monitor(self) -> MonitorSettings:
        """Settings of the monitor."""
        return self._first.spec.monitor.settings()

    @property
    def latency_map(self) -> LatencyMapSpec:
        """Source of the latency map; the default of its Prometheus server is the monitor's."""
        group = self._first.spec.latency_map
        return group.model_copy(
            update={"prometheus_url": group.prometheus_url or self._first.spec.monitor.prometheus_url}
        )

    @property
    def rescale_timeout_s(self) -> float:
        """Time after which a change that has not settled no longer blocks the next."""
        return self._first.spec.reconfiguration.rescale_timeout_s

    def build(self, drivers: Mapping[str, DriverEndpoint]) -> Workflow:
        """Return the workflow for the loop."""
        operators = (_operator(item, drivers.get(name)) for name, item in self.resources.items())
        return Workflow(operators, self._first.spec.slo_s)

    def settings(self, workflow: Workflow, metrics_urls: Mapping[str, str]) -> Settings:
        """Return the settings of a loop outside Kubernetes that decides alike, for `build`'s workflow."""
        return Settings.model_validate(
            {
                "workflow": {
                    "slo": workflow.slo_s,
                    "operators": {
                        name: _settings_of(each, metrics_urls[name]) for name, each in workflow.operators.items()
                    },
                },
                "latency_map": {"file": "latency.csv"},
                "monitor": self.monitor,
                "analyze": self.policy_settings,
                "plan": {"rescale_timeout": self.rescale_timeout_s},
            }
        )

    def directives(self, workflow: Workflow) -> Mapping[str, Directive]:
        """Return the directives for the operators of `build`'s workflow.

        DryRun also orders, but only as a server-side dry run.
        """
        return {
            name: Directive(
                operator=workflow.operators[name],
                acts=item.spec.mode != "Recommend",
                pause=None if (pause := item.spec.pause) is None else Pause(until_s=pause.until_s, why=pause.reason),
                override=None if item.spec.override is None else Override(**dict(item.spec.override)),
                replicas=item.spec.replicas or None,
            )
            for name, item in self.resources.items()
        }

    @property
    def _first(self) -> StreamAutoscaler:
        return next(iter(self.resources.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedWorkflows:
    """Resources by workflow: valid workflows, and the faults of the others."""

    #: Valid workflows, by namespace and name.
    workflows: Mapping[Key, ManagedWorkflow] = field(default_factory=dict)
    #: Faults of the other resources, by namespace and name.
    faults: Mapping[Key, ResourceFault] = field(default_factory=dict)


def group_into_workflows(documents: Iterable[Mapping[str, Any]]) -> GroupedWorkflows:
    """Group resources into workflows.

    A workflow with an invalid member is not scaled: the policy needs all operators to find the cause of an overload.
    """
    valid: dict[Key, dict[str, StreamAutoscaler]] = {}
    invalid: dict[Key, dict[str, ResourceFault]] = {}
    for document in documents:
        namespace, name = namespaced_name(document)
        workflow = text_of(group_of(document, "spec"), "workflow", name)
        read = _read(document)
        if isinstance(read, ResourceFault):
            invalid.setdefault((namespace, workflow), {})[name] = read
        else:
            valid.setdefault((namespace, workflow), {})[name] = read
    workflows: dict[Key, ManagedWorkflow] = {}
    faults: dict[Key, ResourceFault] = {}
    for key in sorted({*valid, *invalid}):
        namespace, name = key
        members = dict(sorted(valid.get(key, {}).items()))
        found = invalid.get(key) or _faults_between(members, key, valid)
        if not found:
            workflows[key] = ManagedWorkflow(namespace=namespace, name=name, resources=members)
        for member in {**members, **found}:
            if found:
                faults[namespace, member] = found.get(member) or _blocked_by(name, found)
    return GroupedWorkflows(workflows=workflows, faults=faults)


def driver_selector(resource: StreamAutoscaler) -> LabelSelector:
    """Return the labels by which the driver's pod is found."""
    return resource.spec.driver.selector or LabelSelector.model_validate(
        {"matchLabels": {AUTOSCALER_LABEL: resource.name, **DRIVER_LABELS}}
    )


def external_driver(resource: StreamAutoscaler) -> DriverEndpoint | None:
    """Return the endpoint of a driver outside the cluster; None if the driver is a pod."""
    driver = resource.spec.driver
    if driver.node is None or driver.metrics_url is None:
        return None
    return DriverEndpoint(node=driver.node, metrics_url=driver.metrics_url)


def _read(document: Mapping[str, Any]) -> StreamAutoscaler | ResourceFault:
    try:
        resource = read_autoscaler(document)
    except InputError as error:
        return ResourceFault(reason=FaultReason.SPEC_INVALID, problems=error.problems)
    try:
        resource.spec.policy.settings()
    except SettingsError as error:
        source = source_of(document)
        problems = tuple(Problem(each.code, {**each.fields, "source": source}) for each in error.problems)
        return ResourceFault(reason=FaultReason.SETTINGS_INVALID, problems=problems)
    return resource


def _faults_between(
    members: Mapping[str, StreamAutoscaler], key: Key, all_members: Mapping[Key, Mapping[str, StreamAutoscaler]]
) -> dict[str, ResourceFault]:
    unknown = {
        name: ResourceFault(reason=FaultReason.UPSTREAM_UNKNOWN, problems=(problem,))
        for name, item in members.items()
        if (problem := _unknown_upstream(item, key, all_members)) is not None
    }
    if unknown:
        return unknown
    source = f"workflow {'/'.join(key)}"
    if len(members) > MAX_OPERATORS:
        too_large = Problem("workflow-too-large", {"source": source, "limit": MAX_OPERATORS, "count": len(members)})
        return dict.fromkeys(members, ResourceFault(reason=FaultReason.WORKFLOW_TOO_LARGE, problems=(too_large,)))
    try:
        Workflow(_operator(item, None) for item in members.values())
    except InputError as error:
        cyclic = tuple(Problem(each.code, {**each.fields, "source": source}) for each in error.problems)
        return dict.fromkeys(members, ResourceFault(reason=FaultReason.WORKFLOW_CYCLIC, problems=cyclic))
    if differing := tuple(_differences(tuple(members.values()))):
        differ = Problem("workflow-settings-differ", {"source": source, "settings": differing})
        return dict.fromkeys(members, ResourceFault(reason=FaultReason.SETTINGS_DIFFER, problems=(differ,)))
    return {}


def _differences(members: Sequence[StreamAutoscaler]) -> Iterator[str]:
    """Yield each shared setting that differs, such as ``policy.seed (7 in near, 0 in clean)``."""
    shared = {item.name: _shared(item.spec.model_dump(mode="json", by_alias=True)) for item in members}
    for path in next(iter(shared.values())):
        first_with = {repr(shared[name][path]): name for name in reversed(shared)}
        if len(first_with) > 1:
            values = ", ".join(f"{value} in {name}" for value, name in reversed(first_with.items()))
            yield f"{path} ({values})"


def _shared(spec: Mapping[str, Any]) -> dict[str, Any]:
    groups = ("policy", "monitor", "latencyMap")
    shared = {f"{group}.{name}": value for group in groups for name, value in spec[group].items()}
    return {**shared, "slo": spec["slo"], "reconfiguration.rescaleTimeout": spec["reconfiguration"]["rescaleTimeout"]}


def _unknown_upstream(
    item: StreamAutoscaler, key: Key, all_members: Mapping[Key, Mapping[str, StreamAutoscaler]]
) -> Problem | None:
    namespace, workflow = key
    for upstream in item.spec.upstream:
        if upstream in all_members[key]:
            continue
        elsewhere = [other for (space, other), kept in all_members.items() if space == namespace and upstream in kept]
        fields = {
            "source": f"{SINGULAR} {namespace}/{item.name}",
            "place": "spec.upstream",
            "workflow": workflow,
            "upstream": upstream,
        }
        if elsewhere:
            return Problem("resource-upstream-in-other-workflow", {**fields, "other": elsewhere[0]})
        return Problem("resource-upstream-unknown", fields)
    return None


def _blocked_by(workflow: str, found: Mapping[str, ResourceFault]) -> ResourceFault:
    (member, fault), *_ = found.items()
    fields = {"workflow": key_path((workflow,)), "member": key_path((member,)), "cause": fault.message}
    return ResourceFault(reason=FaultReason.WORKFLOW_BROKEN, problems=(Problem("workflow-member-invalid", fields),))


def _settings_of(operator: Operator, metrics_url: str) -> dict[str, Any]:
    cap = operator.cap
    return {
        "driver_node": operator.driver_node,
        "upstream": operator.upstream,
        "min_replicas": operator.min_replicas,
        "max_replicas": operator.max_replicas,
        "schedules": [ScheduleSettings.model_validate(asdict(each), by_name=True) for each in operator.schedules],
        "metrics_url": metrics_url,
        "batch_cap_rows": (cap and cap.rows) or None,
        "batch_cap_rows_per_replica": (cap and cap.rows_per_replica) or None,
    }


def _operator(item: StreamAutoscaler, driver: DriverEndpoint | None) -> Operator:
    spec = item.spec
    endpoint = driver or external_driver(item) or DriverEndpoint()
    cap = spec.batch_cap
    return Operator(
        name=item.name,
        driver_node=endpoint.node,
        upstream=spec.upstream,
        min_replicas=spec.min_replicas,
        max_replicas=spec.max_replicas,
        cap=None if cap is None else BatchCap(rows=cap.rows or 0, rows_per_replica=cap.rows_per_replica or 0),
        restarts=Strategy(spec.reconfiguration.strategy) is Strategy.RESTART,
        schedules=tuple(each.build() for each in spec.schedules),
    )
