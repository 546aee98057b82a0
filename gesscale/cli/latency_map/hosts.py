"""Where nodes are: a file of hosts, or what ``kubectl get nodes -o json`` prints."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gesscale.cli.latency_map.nodes_file import MAX_BYTES, parse_listing
from gesscale.common.yaml_text import read_text
from gesscale.errors import InputError
from gesscale.kubernetes.placement.nodes import read_node
from latency_map.emulate.hosts import Host, parse_hosts


def read_hosts(file: Path, device: str, *, pod_networks: bool = False) -> tuple[Host, ...]:
    """Read a file of hosts, or what ``kubectl get nodes -o json`` prints.

    Parameters
    ----------
    pod_networks
        Take the pod network of each Kubernetes node too: needed where pods' packets are not wrapped into
        packets between nodes, as with flannel's host-gw.

    Raises
    ------
    LatencyMapError
        It is none.
    InputError
        It cannot be read, or is not what kubectl prints.
    """
    try:
        text = read_text(file, max_bytes=MAX_BYTES)
    except OSError as error:
        message = f"{file}: expected a file of hosts: {error.strerror}"
        raise InputError(message) from None
    if (nodes := _kubectl_items(text)) is None:
        return parse_hosts(text, str(file), device=device)
    return tuple(_to_host(each, str(file), device, pod_networks=pod_networks) for each in nodes)


def _kubectl_items(text: str) -> list[Any] | None:
    """Return the items of a list that kubectl has printed; None where the text is none."""
    if "items" not in text:
        return None
    try:
        content = parse_listing(text, "")
    except InputError:
        return None
    items = content.get("items") if isinstance(content, dict) else None
    return items if isinstance(items, list) else None


def _to_host(item: Mapping[str, Any], source: str, device: str, *, pod_networks: bool) -> Host:
    """Return a node of ``kubectl get nodes -o json`` as a machine in a network, at its internal address."""
    try:
        node = read_node(item)
    except InputError as error:
        message = f"{source}: expected what kubectl get nodes -o json prints: {error}"
        raise InputError(message) from None
    if not node.address:
        message = f"{source}: expected an address of type InternalIP for node {node.name!r}, got none"
        raise InputError(message)
    networks = node.pod_networks if pod_networks else ()
    return Host(name=node.name, address=node.address, device=device, networks=networks)
