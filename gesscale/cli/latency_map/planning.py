"""What ``latency-map plan`` and ``testbed apply`` have in common: hosts, and the plan of both."""

import re
from pathlib import Path
from typing import Any

from gesscale.cli.latency_map.kubectl import to_host
from gesscale.cli.latency_map.nodes_file import MAX_BYTES, parse_listing
from gesscale.cli.latency_map.reading import load_map
from gesscale.cli.output import stderr_console
from gesscale.common.yaml_text import read_text
from gesscale.errors import InputError
from latency_map import Asymmetry, LatencyMap, LatencyMapError
from latency_map.emulate.hosts import Host
from latency_map.emulate.hosts_file import parse_hosts
from latency_map.emulate.plan import EmulationPlan, tc_plan


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
    return tuple(to_host(each, str(file), device, pod_networks=pod_networks) for each in nodes)


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


def plan_for(
    latencies: LatencyMap,
    hosts: tuple[Host, ...],
    *,
    measured: Path | None,
    rate_mbit: int,
    skip_missing: bool,
) -> EmulationPlan:
    """Plan with the options of the command line."""
    own = None if measured is None else _load_measured(measured)
    return tc_plan(latencies, hosts, own=own, rate_mbit=rate_mbit, skip_missing=skip_missing)


def _load_measured(file: Path) -> LatencyMap:
    try:
        return load_map(file, None, None, Asymmetry.MEAN)
    except LatencyMapError as error:
        message = (
            f"--measured: {error}; a map that gesscale latency-map import or measure wrote says all of it"
        )
        raise LatencyMapError(message) from None


def print_left_out(planned: EmulationPlan) -> None:
    """Say on stderr what a plan cannot do."""
    for pair in planned.too_fast:
        stderr_console.print(
            f"warning: {pair.first} - {pair.second} cannot be met: {pair.asked_ms:g} ms are asked, the network"
            f" itself has {pair.own_ms:g} ms"
        )
    for first, second in planned.skipped:
        stderr_console.print(f"warning: {first} - {second} has no round trip in the map and stays as it is")
    for name in planned.unused:
        stderr_console.print(f"warning: {name} is left alone: it is not in both the map and the hosts")


def parse_time_s(text: str) -> int:
    """Return seconds of a time such as ``90s``, ``30m`` or ``2h``.

    Raises
    ------
    InputError
        It is no such time.
    """
    match = re.fullmatch(r"(\d{1,6})([smh]?)", text.strip())
    seconds = int(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]] if match else 0
    if not seconds:
        message = f"expected a time such as 90s, 30m or 2h, got {text!r}"
        raise InputError(message)
    return seconds
