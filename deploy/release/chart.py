"""The Helm chart, made of the objects that kustomize renders of deploy/k3s: one description, two ways to install it.

What may be set is in `KNOBS`. Its default is what the object has, so a chart without values is the base.
"""

import copy
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import yaml

MANAGED_BY = "app.kubernetes.io/managed-by"
NAMESPACE_KNOB, MONITORING_KNOB = "namespace.create", "monitoring.enabled"

_IMAGE = {"type": "string", "minLength": 1, "pattern": r"^[^\s@]+(:[\w.-]+|@sha256:[0-9a-f]{64})$"}
_ARGUMENTS = {"type": "array", "items": {"type": "string"}}
_AMOUNTS = {"type": "object", "additionalProperties": {"type": ["string", "number"]}}
_RESOURCES = {"type": "object", "properties": {"requests": _AMOUNTS, "limits": _AMOUNTS}, "additionalProperties": False}
_PULL = {"enum": ["Always", "IfNotPresent", "Never"]}
_SWITCH = {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Knob:
    """A value of the chart.

    Attributes
    ----------
    name
        Its path in the values.
    kind, owner
        The object that it is in.
    path
        Where in the object; a number is a position in a list.
    schema
        What it may be, as JSON schema.
    about
        What it is for.
    """

    name: str
    kind: str
    owner: str
    path: tuple[str | int, ...]
    schema: Mapping[str, Any]
    about: str


_CONTAINER = ("spec", "template", "spec", "containers", 0)
_CONTROLLER, _AGENT = ("Deployment", "gesscale-controller"), ("DaemonSet", "latency-agent")
KNOBS = (
    Knob("controller.image", *_CONTROLLER, (*_CONTAINER, "image"), _IMAGE, "with its tag or its digest"),
    Knob("controller.imagePullPolicy", *_CONTROLLER, (*_CONTAINER, "imagePullPolicy"), _PULL, "of the image"),
    Knob(
        "controller.replicas",
        *_CONTROLLER,
        ("spec", "replicas"),
        {"type": "integer", "minimum": 1},
        "one of them leads",
    ),
    Knob("controller.args", *_CONTROLLER, (*_CONTAINER, "args"), _ARGUMENTS, "of gesscale run --kubernetes"),
    Knob("controller.resources", *_CONTROLLER, (*_CONTAINER, "resources"), _RESOURCES, "requests and limits"),
    Knob("agent.image", *_AGENT, (*_CONTAINER, "image"), _IMAGE, "with its tag or its digest"),
    Knob("agent.imagePullPolicy", *_AGENT, (*_CONTAINER, "imagePullPolicy"), _PULL, "of the image"),
    Knob("agent.args", *_AGENT, (*_CONTAINER, "args"), _ARGUMENTS, "of the agent on every node"),
    Knob("agent.resources", *_AGENT, (*_CONTAINER, "resources"), _RESOURCES, "requests and limits"),
)
_SWITCHES = {
    "Namespace": (NAMESPACE_KNOB, "write the namespace gesscale, with its Pod Security labels"),
    "ConfigMap": (MONITORING_KNOB, "write the configuration of Prometheus and Grafana"),
}
"""Kinds that may be left out, by the value that says so."""


def chart_files(objects: Sequence[Mapping[str, Any]], *, version: str, description: str) -> dict[str, bytes]:
    """Make the files of the chart.

    Parameters
    ----------
    objects
        What ``kubectl kustomize deploy/k3s`` renders.
    version
        Of the project; the chart has the same.
    description
        Of the project, in a line.

    Returns
    -------
    dict
        Contents by path below the chart's folder.

    Raises
    ------
    LookupError
        A value has no object or no place in it.
    """
    found = [copy.deepcopy(dict(each)) for each in objects]
    values: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for name, about in _SWITCHES.values():
        _put(values, schemas, name, True, {**_SWITCH, "description": about})
    inserted: dict[str, Knob] = {}
    for knob in KNOBS:
        holder, key = _place(found, knob)
        _put(values, schemas, knob.name, holder[key], {**knob.schema, "description": knob.about})
        token = f"KNOB{len(inserted)}KNOB"
        inserted[token] = knob
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
        "values.yaml": "# Defaults are those of deploy/k3s; values.schema.json says what each is for.\n"
        + _yaml(values),
        "values.schema.json": json.dumps(_object_schema(schemas), indent=2) + "\n",
    }
    for each in found:
        kind, name = each["kind"], each["metadata"]["name"]
        labels = each["metadata"].get("labels", {})
        if MANAGED_BY in labels:
            labels[MANAGED_BY] = "Helm"
        if kind == "CustomResourceDefinition":  # no template: Helm installs it first, and never deletes it
            files[f"crds/{name}.yaml"] = _yaml(each)
        else:
            files[f"templates/{kind.lower()}-{name}.yaml"] = _template(each, inserted)
    return {path: text.encode() for path, text in files.items()}


def _place(objects: list[dict[str, Any]], knob: Knob) -> tuple[Any, str | int]:
    """Return what holds a value in its object, and under which key."""
    for each in objects:
        if (each["kind"], each["metadata"]["name"]) == (knob.kind, knob.owner):
            holder: Any = each
            for step in knob.path[:-1]:
                holder = holder[step]
            if knob.path[-1] not in holder:
                break
            return holder, knob.path[-1]
    message = f"{knob.name}: expected {'.'.join(map(str, knob.path))} in {knob.kind} {knob.owner}, got none"
    raise LookupError(message)


def _put(values: dict[str, Any], schemas: dict[str, Any], name: str, value: Any, schema: Mapping[str, Any]) -> None:
    group, _, key = name.partition(".")
    values.setdefault(group, {})[key] = value
    schemas.setdefault(group, {})[key] = schema


def _object_schema(schemas: Mapping[str, Any]) -> dict[str, Any]:
    groups = {
        group: {"type": "object", "properties": keys, "additionalProperties": False} for group, keys in schemas.items()
    }
    # "global" is Helm's own and always there.
    properties = {**groups, "global": {"type": "object"}}
    return {
        "$schema": "https://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def _template(each: Mapping[str, Any], inserted: Mapping[str, Knob]) -> str:
    # What looks like a template in the objects, such as a rule of Prometheus, is text here.
    text = re.sub(r"\{\{|\}\}", lambda mark: '{{ "' + mark[0] + '" }}', _yaml(each))
    for token, knob in inserted.items():
        text = re.sub(rf"^( *(?:- )?)(\w+): {token}$", partial(_insert, knob), text, flags=re.MULTILINE)
    switch = _SWITCHES.get(each["kind"])
    return f"{{{{- if .Values.{switch[0]} }}}}\n{text}{{{{- end }}}}\n" if switch else text


def _insert(knob: Knob, line: re.Match[str]) -> str:
    """Return the line of a value: in place where it is a word or a number, else below its key."""
    before, key = line[1], line[2]
    if knob.schema.get("type") in ("array", "object"):
        return f"{before}{key}: {{{{- toYaml .Values.{knob.name} | nindent {len(before) + 2} }}}}"
    return f"{before}{key}: {{{{ toYaml .Values.{knob.name} }}}}"


def _yaml(content: object) -> str:
    return yaml.safe_dump(content, sort_keys=False, width=1_000_000, allow_unicode=True)
