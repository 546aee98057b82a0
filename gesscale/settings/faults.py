"""Faults of settings in words, each with where it came from; and what valid ones say that hardly anybody wants."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gesscale.fields import model_within
from gesscale.formatting import describe_fault, key_path, limited, suggestion
from gesscale.settings.groups import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsSource:
    """Settings from one place, as nested mappings."""

    name: str
    document: Mapping[str, Any]


def describe_faults(
    error: ValidationError, sources: Sequence[SettingsSource], root: type[BaseModel] = Settings
) -> Iterator[str]:
    """Describe each fault in one line."""
    faults = error.errors(include_url=False)
    yield from limited((_sentence(fault, sources, root) for fault in faults), len(faults))


def _sentence(fault: ErrorDetails, sources: Sequence[SettingsSource], root: type[BaseModel]) -> str:
    path = [str(part) for part in fault["loc"]]
    origin = next((f"{source.name}: " for source in sources if path and _holds(source.document, path)), "")
    subject = f"{key_path(path)}: " if path else ""
    return f"{origin}{subject}{_problem(fault, path, root)}"


def _problem(fault: ErrorDetails, path: Sequence[str], root: type[BaseModel]) -> str:
    if fault["type"] == "extra_forbidden":
        known = _known_keys(root, path[:-1])
        return f"there is no such setting; {suggestion(path[-1], known)}"
    if fault["type"] == "missing":
        return "this setting is required"
    return describe_fault(fault, group="a group of settings")


def _known_keys(root: type[BaseModel], path: Sequence[str]) -> Collection[str]:
    group = root
    parts = iter(path)
    for part in parts:
        field = next(item for name, item in group.model_fields.items() if part in {name, item.alias})
        group = model_within(field.annotation) or group
        if get_origin(field.annotation) in {Mapping, dict, tuple}:
            next(parts, None)  # the name or number of a member, such as an operator's
    return [field.alias or name for name, field in group.model_fields.items()]


def _holds(document: object, path: Sequence[str]) -> bool:
    for part in path:
        if not isinstance(document, Mapping) or part not in document:
            return False
        document = document[part]
    return True


def lint_settings(settings: Settings, nodes: Collection[str]) -> Iterator[str]:
    """Say what valid settings say that hardly anybody wants, and what to do about it."""
    monitor = settings.monitor
    if monitor.window_s > monitor.period_s:
        times = monitor.window_s / monitor.period_s
        yield (
            f"monitor.window ({monitor.window_s:g} s) is longer than monitor.period ({monitor.period_s:g} s): windows "
            f"overlap, and a batch counts as evidence {times:.2g} times; leave window out, then it is one period"
        )
    if monitor.stale_after_s < monitor.period_s:
        yield (
            f"monitor.stale_after ({monitor.stale_after_s:g} s) is shorter than monitor.period "
            f"({monitor.period_s:g} s): figures of one missed step are not acted on; leave it out, then it is three "
            "periods"
        )
    free = len({*nodes} - {*settings.plan.exclude_nodes})
    for name, operator in settings.workflow.operators.items():
        if nodes and operator.max_replicas > free:
            yield (
                f"workflow.operators.{name}.max_replicas ({operator.max_replicas}) is more than the {free} nodes that "
                "may take a replica: a node takes one replica of an operator; add nodes to the latency map, or lower it"
            )
