"""``gesscale latency-map measure`` and ``gather``: round trips from the network."""

import os
import time
from pathlib import Path

import typer

from gesscale.cli.latency_map.measurement_report import report_gathered, report_row
from gesscale.cli.latency_map.reading import chosen_limits, plain_errors, split_names
from gesscale.cli.output import Output, complain, stderr_console
from gesscale.common.errors import cause_of
from gesscale.errors import InputError
from latency_map import LatencyMapError
from latency_map.measure.gather import gather_agents
from latency_map.measure.method import ProbeMethod, allowed_method, probe_by
from latency_map.measure.pacing import Pace, Pacer
from latency_map.measure.peers import parse_peers, read_peers
from latency_map.measure.places import agent_url, resolve_agents
from latency_map.measure.row import report_target, row_to_survey
from latency_map.measure.sweep import Sweeper
from latency_map.names import check_names

FAILED = 1


def measure_row(
    *,
    source: str,
    target: list[str] | None,
    targets: Path | None,
    count: int,
    rate: float,
    timeout: float,
    method: ProbeMethod,
    port: int,
    map_target: Path | None,
    output: Output,
) -> None:
    """Measure one row of a map: round trips from this machine to others. Exit code 1: no node answered."""
    with plain_errors():
        addresses = _targets(target or [], targets, source)
    lasts_s = len(addresses) * count / rate
    stderr_console.print(
        f"nodes: {len(addresses)}, probes of each: {count}, which takes {lasts_s:.3g} s or more"
    )
    try:
        way = allowed_method(method, say=stderr_console.print)
    except LatencyMapError as error:  # the question was right, this process may not ask it
        if isinstance(error.__context__, ModuleNotFoundError):
            raise error.__context__ from None
        complain(f"error: {error}")
        raise typer.Exit(FAILED) from None
    measured_at_s = time.time()
    pacer = Pacer(Pace(rate_per_s=rate), clock=time.monotonic, sleep=_sleep)
    sweeper = Sweeper(
        probe_by(way, port=port, timeout_s=timeout), pacer, timeout_s=timeout, first_sequence=os.getpid()
    )
    found = sweeper.sweep(addresses, count=count)
    reports = {
        node: report_target(address, [one.sample for one in found[node]])
        for node, address in addresses.items()
    }
    survey = None
    if any(report.summary.replies for report in reports.values()):
        survey = row_to_survey(
            source, reports, measured_at_s=measured_at_s, origin=f"measured from {source} by {way}"
        )
    report_row(source, reports, survey, map_target, output)
    if survey is None:
        hint = "; a firewall may drop echoes: try --method tcp" if way is ProbeMethod.ICMP else ""
        complain(f"error: none of {len(addresses)} nodes answered, no map is written{hint}")
        raise typer.Exit(FAILED)


def gather_rows(
    *,
    agents: str,
    agents_file: Path | None,
    agents_dns: str,
    fill: bool,
    timeout: float,
    map_target: Path | None,
    output: Output,
) -> None:
    """Make a map of what agents measured. Agents that do not answer are listed."""
    with plain_errors():
        urls = _agent_urls(agents, agents_file, agents_dns)
    now_s = time.time()
    try:
        gathered = gather_agents(
            urls, now_s=now_s, timeout_s=timeout, fill_missing=fill, limits=chosen_limits()
        )
    except LatencyMapError as error:  # the question was right, the network was not
        complain(f"error: {error}")
        raise typer.Exit(FAILED) from None
    report_gathered(gathered, len(urls), now_s, map_target, output)


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def _targets(listed: list[str], file: Path | None, source: str) -> dict[str, str]:
    addresses = parse_peers("\n".join(listed), what="--target")
    if file is not None:
        for name, address in read_peers(file).items():
            if addresses.setdefault(name, address) != address:
                message = f"{file}: expected {name!r} once, --target names it with another address"
                raise LatencyMapError(message)
    addresses.pop(source, None)  # one file of all nodes serves everywhere
    if not addresses:
        message = "expected at least one node other than the source: --target name=address or --targets FILE"
        raise LatencyMapError(message)
    check_names((source, *addresses))
    return addresses


def _agent_urls(listed: str, file: Path | None, name: str) -> list[str]:
    given = [
        flag
        for flag, value in (("--agents", listed), ("--agents-file", file), ("--agents-dns", name))
        if value
    ]
    if len(given) != 1:
        message = (
            f"expected one of --agents, --agents-file and --agents-dns, got {' and '.join(given) or 'none'}"
        )
        raise InputError(message)
    if name:
        return resolve_agents(name)
    places = split_names(listed) if file is None else _lines(file)
    return [agent_url(place) for place in places]


def _lines(file: Path) -> list[str]:
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        message = f"{file}: expected a text file with an agent's address a line, got: {cause_of(error)}"
        raise InputError(message) from None
    return [line for line in lines if line and not line.startswith("#")]
