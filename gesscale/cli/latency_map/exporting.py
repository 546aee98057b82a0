"""``gesscale latency-map export``: a map as an object of Kubernetes that other schedulers read."""

import json
from pathlib import Path
from typing import Any

import typer
import yaml

from gesscale.cli.latency_map.nodes_file import read_nodes
from gesscale.cli.latency_map.reading import load_map, plain_errors
from gesscale.cli.latency_map.use import ZONE_LABEL, ExportForm, ObjectForm
from gesscale.cli.output import stderr_console
from gesscale.errors import InputError
from latency_map import LatencyMap
from latency_map.errors import unwritable
from latency_map.formats.scheduler_plugins import between_groups, to_config_map, to_network_topology
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit


def write_export(
    *,
    file: Path,
    form: ExportForm,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    asymmetry: Asymmetry | None,
    nodes: Path | None,
    topology_key: str,
    name: str,
    namespace: str,
    target: Path | None,
    output: ObjectForm,
) -> None:
    """Write a map for the network-aware plugins of Kubernetes' scheduler: whole milliseconds, rounded up."""
    if nodes is not None and form is ExportForm.NETPERF:
        wanted = ExportForm.NETWORK_TOPOLOGY.value
        message = f"--nodes: expected it with --format {wanted}, got {form.value}; leave it out"
        raise InputError(message)
    with plain_errors():
        latencies = load_map(file, unit, kind, asymmetry)
        if nodes is not None:
            latencies = between_groups(latencies, _groups(latencies, nodes, topology_key))
        document = (
            to_config_map(latencies, name=name or "netperf-metrics", namespace=namespace)
            if form is ExportForm.NETPERF
            else to_network_topology(
                latencies,
                name=name or "net-topology",
                namespace=namespace,
                topology_key=topology_key,
                config_map="netperf-metrics",
            )
        )
    _write(document, target, output)


def _groups(latencies: LatencyMap, nodes: Path, topology_key: str) -> dict[str, str]:
    """Return the zone of each node of the map that the file has one for."""
    groups = {}
    for node in read_nodes(nodes, None, room_counts=False):
        zone = node.labels.get("zone" if topology_key == ZONE_LABEL else topology_key)
        if node.name in latencies and zone:
            groups[node.name] = zone
    return groups


def _write(document: dict[str, Any], target: Path | None, output: ObjectForm) -> None:
    text = (
        json.dumps(document, indent=2) + "\n"
        if output is ObjectForm.JSON
        else yaml.safe_dump(document, sort_keys=False)
    )
    if target is None:
        typer.echo(text, nl=False)
        return
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(unwritable(target, error)) from None
    stderr_console.print(f"{document['kind']} {document['metadata']['name']} written to {target}")
