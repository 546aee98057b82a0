"""``latency-map measure``, ``agent`` and ``gather``: maps from measurements."""

import os
import threading
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.cli.latency_map.options import MapTarget
from gesscale.cli.output import Output, OutputOption, stderr_console, table, warn
from gesscale.errors import GesscaleError, InputError
from latency_map.kinds import DelayUnit, ProbeMethod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from latency_map.measure.probes import PairSummary

PANEL = "Create a map"

app = typer.Typer()


@app.command(
    rich_help_panel=PANEL,
    epilog="Example: gesscale latency-map measure --source edge1 --target edge2=10.0.0.2 --to row.json",
)
def measure(
    *,
    source: Annotated[str, typer.Option(help="Name of the node of this machine.")],
    target: Annotated[
        list[str] | None,
        typer.Option(help="Nodes to probe: name=address, separated by commas or line ends; repeatable."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=1000, help="Probes for each node.")] = 10,
    rate: Annotated[
        float,
        typer.Option(
            min=0.01, max=100, help="Largest number of probes per second in total; each is 84 bytes each way."
        ),
    ] = 20.0,
    timeout: Annotated[float, typer.Option(min=0.01, max=60, help="Seconds to wait for a reply.")] = 2.0,
    method: Annotated[
        ProbeMethod, typer.Option(help="auto: ICMP echo if it is permitted, else TCP connections.")
    ] = ProbeMethod.AUTO,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port for TCP, closed or open; no firewall may drop the packets.")
    ] = 22,
    map_target: MapTarget = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Measure one row of a map: round trips from this machine to others. Exit code 1: no node replied."""
    from gesscale.cli.latency_map.map_files import emit_map
    from latency_map.measure.probes import make_probe, summarise
    from latency_map.measure.sweep import Pacer, Sweeper
    from latency_map.plausibility import find_implausible
    from latency_map.survey import survey_of_row

    addresses = _targets(target or [], source)
    lasts_s = len(addresses) * count / rate
    stderr_console.print(f"nodes: {len(addresses)}, probes of each: {count}, duration at least {lasts_s:.3g} s")
    used = _choose_method(method)
    measured_at_s = time.time()
    pacer = Pacer(rate, clock=time.monotonic, sleep=threading.Event().wait)
    sweeper = Sweeper(
        make_probe(used, port=port, timeout_s=timeout), pacer, timeout_s=timeout, first_sequence=os.getpid()
    )
    found = sweeper.sweep(addresses, count=count)
    summaries = {node: summarise([probe.sample for probe in sent]) for node, sent in found.items()}
    survey = None
    if any(summary.replies for summary in summaries.values()):
        origin = f"measured from {source} by {used}"
        rtts_ms = {node: summary.median_ms for node, summary in summaries.items()}
        survey = survey_of_row(source, rtts_ms, measured_at_s=measured_at_s, origin=origin)
        warn(find_implausible(survey, unit=DelayUnit.MS))
    document = {
        "source": source,
        "targets": {
            node: {
                "address": addresses[node],
                **asdict(summary),
                "problem": summary.problem and summary.problem.as_json(),
                "loss_ratio": summary.loss_ratio,
            }
            for node, summary in summaries.items()
        },
    }
    emit_map(survey, map_target, document, output, _row_tables(source, addresses, summaries))
    if survey is None:
        code = "probes-lost-icmp" if used is ProbeMethod.ICMP else "probes-lost"
        raise GesscaleError(code, nodes=len(addresses))


@app.command(
    rich_help_panel=PANEL,
    epilog="Example: gesscale latency-map agent --node edge1 --peers edge2=10.0.0.2,edge3=10.0.0.3",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def agent(context: typer.Context) -> None:
    """Probe other nodes in rounds and serve the measurements to Prometheus; --help lists the options.

    python -m latency_map.measure.agent is the same and needs less memory on a small node.
    """
    from latency_map.measure.agent import main

    raise typer.Exit(main(context.args, program="gesscale latency-map agent"))


@app.command(
    rich_help_panel=PANEL,
    epilog="Example: gesscale latency-map gather --agents 10.0.0.1:9109,10.0.0.2:9109 --fill --to map.json",
)
def gather(
    *,
    agents: Annotated[str, typer.Option(help="Addresses of agents, separated by commas.")] = "",
    agents_dns: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="DNS name of all agents: a headless Service.")
    ] = "",
    fill: Annotated[
        bool, typer.Option("--fill", help="Estimate pairs without a measurement by network coordinates.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(min=0.01, max=60, help="Seconds to wait for the response of each agent.")
    ] = 3.0,
    map_target: MapTarget = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make a map of the measurements of agents. Agents that do not respond are listed."""
    from gesscale.cli.latency_map.map_files import emit_map, limits_from_options
    from gesscale.cli.latency_map.show import summary_facts
    from latency_map import LatencyMapError
    from latency_map.measure.gather import gather_agents
    from latency_map.summary import summarise

    urls = _agent_urls(agents, agents_dns)
    now_s = time.time()
    try:
        gathered = gather_agents(urls, now_s=now_s, timeout_s=timeout, fill_missing=fill, limits=limits_from_options())
    except LatencyMapError as error:  # a failure of the network and not of the input
        raise GesscaleError(error.problems) from None
    survey, unreachable = gathered.survey, gathered.unreachable
    warn(gathered.warnings)
    summary = summarise(survey)
    responded = len(urls) - len(unreachable)
    age_s = None if survey.measured_at_s is None else now_s - survey.measured_at_s
    document = {
        "summary": summary,
        "agents_asked": len(urls),
        "agents_responded": responded,
        "measured_at_s": survey.measured_at_s,
        "oldest_figure_s": age_s,
        "changes": survey.changes,
        "unreachable": {url: problem.as_json() for url, problem in unreachable.items()},
        "warnings": [warning.as_json() for warning in gathered.warnings],
    }
    rows = [
        ("agents", f"{responded} of {len(urls)} responded"),
        *summary_facts(summary),
        ("oldest measurement", "of unknown age" if age_s is None else f"{age_s:.0f} s old"),
        *(("changed", change) for change in survey.changes),
    ]
    tables = [table("gathered", ("figure", "value"), rows)]
    if unreachable:
        lost = [(url, str(problem)) for url, problem in unreachable.items()]
        tables.append(table("unreachable agents", ("agent", "cause"), lost))
    emit_map(survey, map_target, document, output, tables)


def _targets(listed: list[str], source: str) -> dict[str, str]:
    from latency_map.measure.peers import parse_peers
    from latency_map.names import check_names

    addresses = parse_peers("\n".join(listed), source="--target")
    addresses.pop(source, None)  # so that every node can use the same list
    if not addresses:
        raise InputError("probe-targets-missing")
    check_names((source, *addresses))
    return addresses


def _choose_method(method: ProbeMethod) -> ProbeMethod:
    from latency_map import LatencyMapError
    from latency_map.measure.probes import choose_method

    try:
        return choose_method(method, report=lambda problem: warn([problem]))
    except LatencyMapError as error:  # a missing permission and not an invalid input
        if error.code == "icmp-package-missing":
            raise
        raise GesscaleError(error.problems) from None


def _row_tables(source: str, addresses: "Mapping[str, str]", summaries: "Mapping[str, PairSummary]") -> "list[Table]":
    columns = ("node", "address", "median", "p95", "jitter", "loss", "replies")
    figures = ("median_ms", "p95_ms", "jitter_ms", "loss_ratio", "replies")
    rows = [
        (node, addresses[node], *(getattr(summary, name) for name in figures)) for node, summary in summaries.items()
    ]
    tables = [table(f"from {source}, round trips in ms, loss as a share", columns, rows)]
    lost = [(node, _failures(summary)) for node, summary in summaries.items() if summary.loss_ratio]
    return [*tables, table("lost probes", ("node", "probes"), lost)] if lost else tables


def _failures(summary: "PairSummary") -> str:
    counts = {"timeouts": summary.timeouts, "unreachable": summary.unreachable}
    text = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    return f"{text}: {summary.problem}" if summary.problem else text


def _agent_urls(listed: str, name: str) -> list[str]:
    from gesscale.cli.latency_map.map_files import split_names
    from latency_map.measure.peers import agent_url, resolve_agents

    if bool(listed) == bool(name):
        raise InputError("agents-option-ambiguous", got="both" if name else "none")
    return resolve_agents(name) if name else [agent_url(place) for place in split_names(listed)]
