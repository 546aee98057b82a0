"""Files that say where nodes are: CSV with a heading, or YAML."""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from gesscale.common.errors import InputError
from gesscale.common.text import enumerate_some, glimpse
from gesscale.common.yaml_text import parse_yaml
from latency_map.emulate.defaults import DEVICE
from latency_map.emulate.hosts import Host
from latency_map.errors import LatencyMapError

COLUMNS = ("name", "address", "device", "networks")


def parse_hosts(text: str, source: str, *, device: str = DEVICE) -> tuple[Host, ...]:
    """Read where nodes are.

    Parameters
    ----------
    text
        CSV with a heading of ``name,address`` and any of ``device``, ``networks`` (separated by blanks); or YAML
        with a list of such mappings, or with one mapping of names to addresses.
    source
        Names the text in messages.
    device
        The device of nodes for which the text gives none.

    Returns
    -------
    tuple of Host
        In the order of the text.

    Raises
    ------
    LatencyMapError
        It is none of these.
    """
    first = text.lstrip("\ufeff \t\r\n").partition("\n")[0]
    if "," in first and not first.startswith(("{", "[", "-")):
        return _hosts(_csv_entries(text, source), source, device)
    try:
        content = parse_yaml(text, source)
    except InputError as error:
        message = f"{error}, or write the hosts as CSV with a heading"
        raise LatencyMapError(message) from None
    if isinstance(content, Mapping):
        content = [{"name": name, "address": address} for name, address in content.items()]
    if not isinstance(content, list):
        message = (
            f"{source}: expected hosts as CSV with a heading name,address or as YAML with name: address,"
            f" got {type(content).__name__}"
        )
        raise LatencyMapError(message)
    return _hosts(content, source, device)


def _csv_entries(text: str, source: str) -> list[dict[str, Any]]:
    try:
        rows = list(
            csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), strict=True, restkey="", restval="")
        )
    except csv.Error as error:
        message = f"{source}: expected hosts as CSV: {error}"
        raise LatencyMapError(message) from None
    return [
        {
            (key or "").strip(): value.strip() if isinstance(value, str) else value
            for key, value in row.items()
        }
        for row in rows
    ]


def _hosts(entries: Iterable[object], source: str, device: str) -> tuple[Host, ...]:
    hosts = tuple(_host(entry, f"{source}, host {number}", device) for number, entry in enumerate(entries, 1))
    if not hosts:
        message = f"{source}: expected hosts, got none"
        raise LatencyMapError(message)
    return hosts


def _host(entry: object, place: str, device: str) -> Host:
    if not isinstance(entry, Mapping):
        message = f"{place}: expected name and address, got {glimpse(entry)}"
        raise LatencyMapError(message)
    unknown = [str(key) for key in entry if key not in COLUMNS]
    if unknown or not entry.get("name") or not entry.get("address"):
        message = (
            f"{place}: expected name and address, and of {', '.join(COLUMNS[2:])} what is needed,"
            f" got {enumerate_some(str(key) or 'a cell too many' for key in entry)}"
        )
        raise LatencyMapError(message)
    cells = {key: value for key, value in entry.items() if value not in (None, "")}
    networks = cells.get("networks", ())
    if not isinstance(networks, str | list | tuple):
        message = f"{place}: expected a list of networks, got {networks!r:.80}"
        raise LatencyMapError(message)
    try:
        return Host(
            name=str(cells["name"]),
            address=str(cells["address"]),
            device=str(cells.get("device", device)),
            networks=tuple(networks.split() if isinstance(networks, str) else map(str, networks)),
        )
    except LatencyMapError as error:
        message = f"{place}: {error}"
        raise LatencyMapError(message) from None
