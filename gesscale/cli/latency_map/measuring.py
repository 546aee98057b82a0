"""``gesscale latency-map measure``, ``agent``, ``gather``: round trips from the network."""

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.latency_map.arguments import MapTarget, chosen_limits, plain_errors, split_names
from gesscale.cli.latency_map.measurement_report import report_gathered, report_row
from gesscale.cli.output import Output, OutputOption, complain, stderr_console
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


def measure(
    *,
    source: Annotated[str, typer.Option("--source", help="Name of the node that this machine is.")],
    target: Annotated[
        list[str] | None, typer.Option("--target", help="A node to probe: name=address; repeatable.")
    ] = None,
    targets: Annotated[
        Path | None, typer.Option("--targets", metavar="FILE", help="A file of lines name=address.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=1000, help="Probes for each node.")] = 10,
    rate: Annotated[
        float, typer.Option(min=0.01, max=100, help="Most probes a second in all; 84 bytes each way apiece.")
    ] = 20.0,
    timeout: Annotated[float, typer.Option(min=0.01, max=60, help="Seconds to wait for a reply.")] = 2.0,
    method: Annotated[
        ProbeMethod, typer.Option(help="auto: ICMP echo where it is allowed, else TCP connections.")
    ] = ProbeMethod.AUTO,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="For TCP; closed or open, but no firewall may drop it.")
    ] = 22,
    map_target: MapTarget = None,
    output: OutputOption = Output.TABLE,
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


def agent(context: typer.Context) -> None:
    """Probe other nodes round after round and serve the figures to Prometheus; --help lists the options.

    Light enough for a small node; python -m latency_map.measure.agent is the same, lighter.
    """
    from latency_map.measure.agent import main

    raise typer.Exit(main(context.args, program="gesscale latency-map agent"))


def gather(
    *,
    agents: Annotated[str, typer.Option("--agents", help="Addresses of agents, by commas.")] = "",
    agents_file: Annotated[
        Path | None, typer.Option("--agents-file", metavar="FILE", help="A file with an address a line.")
    ] = None,
    agents_dns: Annotated[
        str,
        typer.Option(
            "--agents-dns", metavar="HOST:PORT", help="A name that stands for all agents: a headless service."
        ),
    ] = "",
    fill: Annotated[
        bool, typer.Option("--fill", help="Estimate pairs without a measurement by network coordinates.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(min=0.01, max=60, help="Seconds to wait for each agent's answer.")
    ] = 3.0,
    map_target: MapTarget = None,
    output: OutputOption = Output.TABLE,
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
        message = f"{file}: expected a text file with an agent's address a line, got: {error}"
        raise InputError(message) from None
    return [line for line in lines if line and not line.startswith("#")]
