"""The Helm chart, generated from the objects that kustomize renders from deploy/k3s: one source, two ways to install.

`CHART_VALUES` lists its values. Defaults are those of the objects, so the chart without values is the base.
"""

import copy
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

MANAGED_BY = "app.kubernetes.io/managed-by"

_IMAGE = {"type": "string", "minLength": 1, "pattern": r"^[^\s@]+(:[\w.-]+|@sha256:[0-9a-f]{64})$"}
_ARGUMENTS = {"type": "array", "items": {"type": "string"}}
_WORDS = {"type": "object", "additionalProperties": {"type": "string"}}
_OBJECTS = {"type": "array", "items": {"type": "object"}}
_PULL_SECRETS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    },
}
_AMOUNTS = {"type": "object", "additionalProperties": {"type": ["string", "number"]}}
_RESOURCES = {"type": "object", "properties": {"requests": _AMOUNTS, "limits": _AMOUNTS}, "additionalProperties": False}
_PULL = {"enum": ["Always", "IfNotPresent", "Never"]}
_SWITCH = {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class ChartValue:
    """A value of the chart.

    Attributes
    ----------
    name
        Its path in the values.
    kind, owner
        Kind and name of its object.
    path
        Its path in the object; a number is a position in a list.
    schema
        Its JSON schema.
    about
        Its description.
    default
        Its default if the object lacks the field; None if the field must be there.
    """

    name: str
    kind: str
    owner: str
    path: tuple[str | int, ...]
    schema: Mapping[str, Any]
    about: str
    default: Any = None


_POD = ("spec", "template", "spec")
_CONTAINER = (*_POD, "containers", 0)
_CONTROLLER, _AGENT = ("Deployment", "gesscale-controller"), ("DaemonSet", "latency-agent")
CHART_VALUES = (
    ChartValue("controller.image", *_CONTROLLER, (*_CONTAINER, "image"), _IMAGE, "image with tag or digest"),
    ChartValue(
        "controller.imagePullPolicy", *_CONTROLLER, (*_CONTAINER, "imagePullPolicy"), _PULL, "pull policy of the image"
    ),
    ChartValue(
        "controller.replicas",
        *_CONTROLLER,
        ("spec", "replicas"),
        {"type": "integer", "minimum": 1},
        "number of replicas; one of them leads",
    ),
    ChartValue(
        "controller.args", *_CONTROLLER, (*_CONTAINER, "args"), _ARGUMENTS, "arguments of gesscale run --kubernetes"
    ),
    ChartValue("controller.resources", *_CONTROLLER, (*_CONTAINER, "resources"), _RESOURCES, "requests and limits"),
    ChartValue("agent.image", *_AGENT, (*_CONTAINER, "image"), _IMAGE, "image with tag or digest"),
    ChartValue("agent.imagePullPolicy", *_AGENT, (*_CONTAINER, "imagePullPolicy"), _PULL, "pull policy of the image"),
    ChartValue("agent.args", *_AGENT, (*_CONTAINER, "args"), _ARGUMENTS, "arguments of the agent on every node"),
    ChartValue("agent.resources", *_AGENT, (*_CONTAINER, "resources"), _RESOURCES, "requests and limits"),
    *(
        ChartValue(f"{part}.{key}", *owner, path, schema, about, default)
        for part, owner in (("controller", _CONTROLLER), ("agent", _AGENT))
        for key, path, schema, about, default in (
            ("nodeSelector", (*_POD, "nodeSelector"), _WORDS, "labels of its nodes", {}),
            ("tolerations", (*_POD, "tolerations"), _OBJECTS, "tolerations of its pods", None),
            ("imagePullSecrets", (*_POD, "imagePullSecrets"), _PULL_SECRETS, "Secrets of the image's registry", []),
            (
                "podAnnotations",
                ("spec", "template", "metadata", "annotations"),
                _WORDS,
                "annotations of its pods",
                None,
            ),
        )
    ),
    *(
        ChartValue("serviceMonitor.labels", kind, owner, ("metadata", "labels"), _WORDS, "labels of the monitors", {})
        for kind, owner in (
            ("ServiceMonitor", "gesscale-controller"),
            ("ServiceMonitor", "gesscale-latency-agent"),
            ("PodMonitor", "gesscale-driver"),
        )
    ),
)
_SWITCHES = {
    "ConfigMap": ("monitoring.enabled", True, "create the configuration of Prometheus and Grafana"),
    **dict.fromkeys(
        ("ServiceMonitor", "PodMonitor"),
        ("serviceMonitor.enabled", False, "create the monitors of the Prometheus operator"),
    ),
}
"""Optional kinds, with the value that enables them, its default and its description."""
_TEMPLATES = Path(__file__).parent / "templates"


def chart_files(
    objects: Sequence[Mapping[str, Any]],
    *,
    version: str,
    description: str,
    options: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> dict[str, bytes]:
    """Generate the files of the chart.

    Parameters
    ----------
    objects
        Output of ``kubectl kustomize deploy/k3s``, and the monitors of its component.
    version
        Version of the project and of the chart.
    description
        One line about the project.
    options
        By value, such as ``controller.args``, the options that its program takes.

    Returns
    -------
    dict
        Contents by path below the chart's folder.

    Raises
    ------
    LookupError
        The object or the field of a value does not exist.
    """
    found = [copy.deepcopy(dict(each)) for each in objects if each["kind"] != "Namespace"]  # Helm creates it
    values: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for name, default, about in _SWITCHES.values():
        _put(values, schemas, name, default, {**_SWITCH, "description": about})
    inserted: dict[str, ChartValue] = {}
    for chart_value in CHART_VALUES:
        holder, key = _place(found, chart_value)
        schema = {**chart_value.schema, "description": chart_value.about}
        if known := options.get(chart_value.name):
            schema["items"] = {"type": "string", "pattern": f"^--({'|'.join(sorted(known))})=.+$"}
        if chart_value.name == "serviceMonitor.labels":  # in addition to those of the object
            _put(values, schemas, chart_value.name, {}, schema)
            holder[key]["VALUES"] = "LABELS"
            continue
        _put(values, schemas, chart_value.name, holder[key], schema)
        token = f"VALUE{len(inserted)}VALUE"
        inserted[token] = chart_value
        holder[key] = token
    head = {
        "apiVersion": "v2",
        "name": "gesscale",
        "description": description,
        "type": "application",
        "version": version,
        "appVersion": version,
        "kubeVersion": ">=1.30.0-0",
    }
    files = {
        "Chart.yaml": _yaml(head),
        "values.yaml": "# Defaults are those of deploy/k3s; values.schema.json describes each value.\n" + _yaml(values),
        "values.schema.json": json.dumps(_object_schema(schemas), indent=2) + "\n",
    }
    for each in found:
        kind, name = each["kind"], each["metadata"]["name"]
        labels = each["metadata"].get("labels", {})
        if MANAGED_BY in labels:
            labels[MANAGED_BY] = "Helm"
        if kind == "CustomResourceDefinition":  # no template: Helm installs it first and never deletes it
            files[f"crds/{name}.yaml"] = _yaml(each)
        else:
            files[f"templates/{kind.lower()}-{name}.yaml"] = _template(each, inserted)
    files |= {f"templates/{each.name}": each.read_text("utf-8") for each in _TEMPLATES.iterdir()}
    return {path: text.encode() for path, text in files.items()}


def _place(objects: list[dict[str, Any]], chart_value: ChartValue) -> tuple[Any, str | int]:
    """Return the container of a value in its object, and its key."""
    for each in objects:
        if (each["kind"], each["metadata"]["name"]) == (chart_value.kind, chart_value.owner):
            holder: Any = each
            for step in chart_value.path[:-1]:
                holder = holder[step]
            if chart_value.default is not None:
                holder.setdefault(chart_value.path[-1], chart_value.default)
            if chart_value.path[-1] not in holder:
                break
            return holder, chart_value.path[-1]
    path = ".".join(map(str, chart_value.path))
    message = f"{chart_value.name}: expected {path} in {chart_value.kind} {chart_value.owner}, got none"
    raise LookupError(message)


def _put(values: dict[str, Any], schemas: dict[str, Any], name: str, value: Any, schema: Mapping[str, Any]) -> None:
    group, _, key = name.partition(".")
    values.setdefault(group, {})[key] = value
    schemas.setdefault(group, {})[key] = schema


def _object_schema(schemas: Mapping[str, Any]) -> dict[str, Any]:
    groups = {
        group: {"type": "object", "properties": keys, "additionalProperties": False} for group, keys in schemas.items()
    }
    # Helm always adds "global".
    properties = {**groups, "global": {"type": "object"}}
    return {
        "$schema": "https://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def _template(each: Mapping[str, Any], inserted: Mapping[str, ChartValue]) -> str:
    # Template syntax in the objects, such as in a Prometheus rule, is text here.
    text = re.sub(r"\{\{|\}\}", lambda mark: '{{ "' + mark[0] + '" }}', _yaml(each))
    for token, chart_value in inserted.items():
        text = re.sub(rf"^( *(?:- )?)(\w+): {token}$", partial(_insert, chart_value), text, flags=re.MULTILINE)
    labels = "{{- with .Values.serviceMonitor.labels }}{{- toYaml . | nindent 4 }}{{- end }}"
    text = text.replace("    VALUES: LABELS\n", f"    {labels}\n")
    switch = _SWITCHES.get(each["kind"])
    return f"{{{{- if .Values.{switch[0]} }}}}\n{text}{{{{- end }}}}\n" if switch else text


def _insert(chart_value: ChartValue, line: re.Match[str]) -> str:
    """Return the line of a value: scalars on the line of the key, others below it."""
    before, key = line[1], line[2]
    if chart_value.default is not None:  # the object has no such field by default
        inside = f"{before}{key}: {{{{- toYaml . | nindent {len(before) + 2} }}}}"
        return f"{{{{- with .Values.{chart_value.name} }}}}\n{inside}\n{{{{- end }}}}"
    if chart_value.schema.get("type") in ("array", "object"):
        return f"{before}{key}: {{{{- toYaml .Values.{chart_value.name} | nindent {len(before) + 2} }}}}"
    return f"{before}{key}: {{{{ toYaml .Values.{chart_value.name} }}}}"


def _yaml(content: object) -> str:
    return yaml.safe_dump(content, sort_keys=False, width=1_000_000, allow_unicode=True)
