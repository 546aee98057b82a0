"""From the resources of a namespace to the workflows that the loop steers; what is wrong with one stops no other."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gesscale.errors import InputError, SettingsError
from gesscale.formatting import key_path
from gesscale.kubernetes.resource.autoscaler import (
    AUTOSCALER_LABEL,
    DRIVER_LABELS,
    StreamAutoscaler,
    name_in_messages,
    place_in,
    read_autoscaler,
)
from gesscale.kubernetes.resource.spec import LabelSelector
from gesscale.kubernetes.resource.spec_groups import LatencyMapSpec
from gesscale.model.workflow import BatchCap, Operator, Workflow
from gesscale.plan.directives import Directive, Override, Pause
from gesscale.settings.analyze import AnalyzeSettings
from gesscale.settings.groups import MonitorSettings
from gesscale.wire import Strategy, group_of, text_of

#: Namespace and name, of a resource or of a workflow.
Key = tuple[str, str]

#: Operators of one workflow: all are read at the same time, in threads of their own.
OPERATORS_AT_MOST = 64


class FaultReason(StrEnum):
    """Why a resource cannot be obeyed; the reason of its condition Ready."""

    SPEC_INVALID = "SpecInvalid"
    SETTINGS_INVALID = "SettingsInvalid"
    SETTINGS_DIFFER = "SettingsDiffer"
    UPSTREAM_UNKNOWN = "UpstreamUnknown"
    WORKFLOW_TOO_LARGE = "WorkflowTooLarge"
    WORKFLOW_CYCLIC = "WorkflowCyclic"
    WORKFLOW_BROKEN = "WorkflowBroken"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFault:
    """What is wrong with a resource, in a word and in a sentence that names it."""

    reason: FaultReason
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverPlace:
    """Where an operator's Spark driver is; empty where this is not known."""

    #: The node that runs it.
    node: str = ""
    #: Where it publishes batches.
    metrics_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedWorkflow:
    """The resources of one workflow, which agree."""

    #: Of the workflow (namespace, name).
    namespace: str
    name: str
    #: By operator, which is the resource's name; at least one.
    resources: Mapping[str, StreamAutoscaler]

    @property
    def policy(self) -> AnalyzeSettings:
        """The policy and its thresholds."""
        return self._any.spec.policy.settings()

    @property
    def monitor(self) -> MonitorSettings:
        """What is read, and how often."""
        return self._any.spec.monitor.settings()

    @property
    def latency_map(self) -> LatencyMapSpec:
        """Where the latency map is read; from Prometheus, the monitor's server stands in for a missing address."""
        group = self._any.spec.latency_map
        return group.model_copy(
            update={"prometheus_url": group.prometheus_url or self._any.spec.monitor.prometheus_url}
        )

    @property
    def rescale_timeout_s(self) -> float:
        """After this long a change that has not settled no longer blocks the next."""
        return self._any.spec.reconfiguration.rescale_timeout_s

    def build(self, drivers: Mapping[str, DriverPlace]) -> Workflow:
        """Return the workflow as the loop knows it."""
        return Workflow(_operator(item, drivers.get(name)) for name, item in self.resources.items())

    def directives(self, workflow: Workflow) -> Mapping[str, Directive]:
        """Return what people say of each operator of `build`'s workflow. DryRun acts too: the cluster rehearses."""
        return {
            name: Directive(
                operator=workflow.operators[name],
                acts=item.spec.mode != "Recommend",
                pause=None if (pause := item.spec.pause) is None else Pause(until_s=pause.until_s, why=pause.reason),
                override=None if item.spec.override is None else Override(**dict(item.spec.override)),
            )
            for name, item in self.resources.items()
        }

    @property
    def _any(self) -> StreamAutoscaler:
        return next(iter(self.resources.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredWorkflows:
    """All resources, judged."""

    #: Those that can be steered, by namespace and name.
    workflows: Mapping[Key, ManagedWorkflow] = field(default_factory=dict)
    #: Of every resource that cannot be obeyed, by namespace and name.
    faults: Mapping[Key, ResourceFault] = field(default_factory=dict)


def gather(documents: Iterable[Mapping[str, Any]]) -> GatheredWorkflows:
    """Form workflows of resources.

    A workflow with a broken member stands still as a whole: the policy judges an overload by all its operators.
    """
    sound: dict[Key, dict[str, StreamAutoscaler]] = {}
    broken: dict[Key, dict[str, ResourceFault]] = {}
    for document in documents:
        namespace, name = place_in(document)
        workflow = text_of(group_of(document, "spec"), "workflow", name)
        read = _read(document)
        if isinstance(read, ResourceFault):
            broken.setdefault((namespace, workflow), {})[name] = read
        else:
            sound.setdefault((namespace, workflow), {})[name] = read
    workflows: dict[Key, ManagedWorkflow] = {}
    faults: dict[Key, ResourceFault] = {}
    for key in sorted({*sound, *broken}):
        namespace, name = key
        members = dict(sorted(sound.get(key, {}).items()))
        found = broken.get(key) or _faults_between(members, key, sound)
        if not found:
            workflows[key] = ManagedWorkflow(namespace=namespace, name=name, resources=members)
        for member in {**members, **found}:
            if found:
                faults[namespace, member] = found.get(member) or _is_stopped(member, name, found)
    return GatheredWorkflows(workflows=workflows, faults=faults)


def driver_selector(resource: StreamAutoscaler) -> LabelSelector:
    """Return the labels by which the driver's pod is found."""
    return resource.spec.driver.selector or LabelSelector.model_validate(
        {"matchLabels": {AUTOSCALER_LABEL: resource.name, **DRIVER_LABELS}}
    )


def outside_driver(resource: StreamAutoscaler) -> DriverPlace | None:
    """Return the place of a driver outside the cluster; None where the driver is a pod."""
    driver = resource.spec.driver
    if driver.node is None or driver.metrics_url is None:
        return None
    return DriverPlace(node=driver.node, metrics_url=driver.metrics_url)


def _read(document: Mapping[str, Any]) -> StreamAutoscaler | ResourceFault:
    try:
        resource = read_autoscaler(document)
    except InputError as error:
        return ResourceFault(reason=FaultReason.SPEC_INVALID, message=str(error))
    try:
        resource.spec.policy.settings()
    except SettingsError as error:
        message = f"{name_in_messages(document)}: {error}"
        return ResourceFault(reason=FaultReason.SETTINGS_INVALID, message=message)
    return resource


def _faults_between(
    members: Mapping[str, StreamAutoscaler], key: Key, all_members: Mapping[Key, Mapping[str, StreamAutoscaler]]
) -> dict[str, ResourceFault]:
    unknown = {
        name: ResourceFault(reason=FaultReason.UPSTREAM_UNKNOWN, message=message)
        for name, item in members.items()
        if (message := _unknown_upstream(item, key, all_members))
    }
    if unknown:
        return unknown
    if len(members) > OPERATORS_AT_MOST:
        limit = f"expected at most {OPERATORS_AT_MOST} operators, got {len(members)}"
        message = f"workflow {'/'.join(key)}: {limit}; split it"
        return dict.fromkeys(members, ResourceFault(reason=FaultReason.WORKFLOW_TOO_LARGE, message=message))
    try:
        Workflow(_operator(item, None) for item in members.values())
    except InputError as error:
        message = f"workflow {'/'.join(key)}: {error}"
        return dict.fromkeys(members, ResourceFault(reason=FaultReason.WORKFLOW_CYCLIC, message=message))
    if differing := tuple(_differences(tuple(members.values()))):
        message = (
            f"the operators of workflow {'/'.join(key)} must agree, but differ in {'; '.join(differing)}; "
            "give them the same"
        )
        return dict.fromkeys(members, ResourceFault(reason=FaultReason.SETTINGS_DIFFER, message=message))
    return {}


def _differences(members: Sequence[StreamAutoscaler]) -> Iterator[str]:
    """Yield each shared member that differs, such as ``policy.law ('auto' in near, 'gesscale' in clean)``."""
    shared = {item.name: _shared(item.spec.model_dump(mode="json", by_alias=True)) for item in members}
    for path in next(iter(shared.values())):
        first_with = {repr(shared[name][path]): name for name in reversed(shared)}
        if len(first_with) > 1:
            said = ", ".join(f"{value} in {name}" for value, name in reversed(first_with.items()))
            yield f"{path} ({said})"


def _shared(spec: Mapping[str, Any]) -> dict[str, Any]:
    groups = ("policy", "monitor", "latencyMap")
    shared = {f"{group}.{name}": value for group in groups for name, value in spec[group].items()}
    return {**shared, "reconfiguration.rescaleTimeout": spec["reconfiguration"]["rescaleTimeout"]}


def _unknown_upstream(
    item: StreamAutoscaler, key: Key, all_members: Mapping[Key, Mapping[str, StreamAutoscaler]]
) -> str:
    namespace, workflow = key
    for upstream in item.spec.upstream:
        if upstream in all_members[key]:
            continue
        elsewhere = [other for (space, other), kept in all_members.items() if space == namespace and upstream in kept]
        where = f"it belongs to workflow {elsewhere[0]}" if elsewhere else "there is none of that name"
        return (
            f"streamautoscaler {namespace}/{item.name}: spec.upstream: expected StreamAutoscalers of workflow "
            f"{workflow}, got {upstream!r}: {where}; create it there or correct the name"
        )
    return ""


def _is_stopped(member: str, workflow: str, found: Mapping[str, ResourceFault]) -> ResourceFault:
    (culprit, fault), *_ = found.items()
    message = (
        f"{member} stands still, since workflow {key_path((workflow,))} cannot be judged without "
        f"{key_path((culprit,))}: {fault.message}"
    )
    return ResourceFault(reason=FaultReason.WORKFLOW_BROKEN, message=message)


def _operator(item: StreamAutoscaler, driver: DriverPlace | None) -> Operator:
    spec = item.spec
    place = driver or outside_driver(item) or DriverPlace()
    cap = spec.batch_cap
    return Operator(
        name=item.name,
        driver_node=place.node,
        upstream=spec.upstream,
        min_replicas=spec.min_replicas,
        max_replicas=spec.max_replicas,
        cap=None if cap is None else BatchCap(rows=cap.rows or 0, rows_per_replica=cap.rows_per_replica or 0),
        restarts=Strategy(spec.reconfiguration.strategy) is Strategy.RESTART,
    )
