"""``latency-map measure``, ``agent``, ``gather``: a map from the network."""

import os
import threading
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.cli.latency_map.options import MapTarget
from gesscale.cli.output import Output, OutputOption, complain, stderr_console, table
from gesscale.errors import InputError
from latency_map.kinds import ProbeMethod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from latency_map.measure.probes import PairSummary

FAILED = 1
PANEL = "Make a map"

app = typer.Typer()


@app.command(
    rich_help_panel=PANEL,
    epilog="Example: gesscale latency-map measure --source edge1 --target edge2=10.0.0.2 --to row.json",
)
def measure(
    *,
    source: Annotated[str, typer.Option(help="Name of the node that this machine is.")],
    target: Annotated[
        list[str] | None, typer.Option(help="Nodes to probe: name=address, by commas or lines; repeatable.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=1000, help="Probes for each node.")] = 10,
    rate: Annotated[
        float, typer.Option(min=0.01, max=100, help="Most probes a second in all; each is 84 bytes each way.")
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
    from gesscale.cli.latency_map.map_files import emit_map
    from latency_map.measure.probes import probe_by, summarise
    from latency_map.measure.sweep import Pacer, Sweeper
    from latency_map.survey import survey_of_row

    addresses = _targets(target or [], source)
    lasts_s = len(addresses) * count / rate
    stderr_console.print(f"nodes: {len(addresses)}, probes of each: {count}, which takes {lasts_s:.3g} s or more")
    way = _allowed_method(method)
    measured_at_s = time.time()
    pacer = Pacer(rate, clock=time.monotonic, sleep=threading.Event().wait)
    sweeper = Sweeper(probe_by(way, port=port, timeout_s=timeout), pacer, timeout_s=timeout, first_sequence=os.getpid())
    found = sweeper.sweep(addresses, count=count)
    summaries = {node: summarise([one.sample for one in sent]) for node, sent in found.items()}
    survey = None
    if any(summary.replies for summary in summaries.values()):
        origin = f"measured from {source} by {way}"
        rtts_ms = {node: summary.median_ms for node, summary in summaries.items()}
        survey = survey_of_row(source, rtts_ms, measured_at_s=measured_at_s, origin=origin)
    document = {
        "source": source,
        "targets": {
            node: {"address": addresses[node], **asdict(summary), "loss_ratio": summary.loss_ratio}
            for node, summary in summaries.items()
        },
    }
    emit_map(survey, map_target, document, output, _row_tables(source, addresses, summaries))
    if survey is None:
        hint = "; a firewall may drop echoes: try --method tcp" if way is ProbeMethod.ICMP else ""
        complain(f"error: none of {len(addresses)} nodes answered, no map is written{hint}")
        raise typer.Exit(FAILED)


@app.command(
    rich_help_panel=PANEL,
    epilog="Example: gesscale latency-map agent --node edge1 --peers edge2=10.0.0.2,edge3=10.0.0.3",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def agent(context: typer.Context) -> None:
    """Probe other nodes round after round and serve the figures to Prometheus; --help lists the options.

    Light enough for a small node; python -m latency_map.measure.agent is the same, lighter.
    """
    from latency_map.measure.agent import main

    raise typer.Exit(main(context.args, program="gesscale latency-map agent"))


@app.command(
    rich_help_panel=PANEL,
    epilog="Example: gesscale latency-map gather --agents 10.0.0.1:9109,10.0.0.2:9109 --fill --to map.json",
)
def gather(
    *,
    agents: Annotated[str, typer.Option(help="Addresses of agents, by commas.")] = "",
    agents_dns: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="A name that stands for all agents: a headless service.")
    ] = "",
    fill: Annotated[
        bool, typer.Option("--fill", help="Estimate pairs without a measurement by network coordinates.")
    ] = False,
    timeout: Annotated[float, typer.Option(min=0.01, max=60, help="Seconds to wait for each agent's answer.")] = 3.0,
    map_target: MapTarget = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make a map of what agents measured. Agents that do not answer are listed."""
    from gesscale.cli.latency_map.map_files import chosen_limits, emit_map
    from gesscale.cli.latency_map.show import summary_facts
    from latency_map import LatencyMapError
    from latency_map.measure.gather import gather_agents
    from latency_map.summary import summarise

    urls = _agent_urls(agents, agents_dns)
    now_s = time.time()
    try:
        gathered = gather_agents(urls, now_s=now_s, timeout_s=timeout, fill_missing=fill, limits=chosen_limits())
    except LatencyMapError as error:  # the question was right, the network was not
        complain(f"error: {error}")
        raise typer.Exit(FAILED) from None
    survey, unreachable = gathered.survey, gathered.unreachable
    summary = summarise(survey)
    answered = len(urls) - len(unreachable)
    age_s = None if survey.measured_at_s is None else now_s - survey.measured_at_s
    document = {
        "summary": summary,
        "agents_asked": len(urls),
        "agents_answered": answered,
        "measured_at_s": survey.measured_at_s,
        "oldest_figure_s": age_s,
        "changes": survey.changes,
        "unreachable": unreachable,
    }
    rows = [
        ("agents", f"{answered} of {len(urls)} answered"),
        *summary_facts(summary),
        ("oldest figure", "of unknown age" if age_s is None else f"{age_s:.0f} s old"),
        *(("changed", change) for change in survey.changes),
    ]
    tables = [table("gathered", ("what", "found"), rows)]
    if unreachable:
        tables.append(table("no figures from", ("agent", "because"), list(unreachable.items())))
    emit_map(survey, map_target, document, output, tables)


def _targets(listed: list[str], source: str) -> dict[str, str]:
    from latency_map.measure.peers import parse_peers
    from latency_map.names import check_names

    addresses = parse_peers("\n".join(listed), what="--target")
    addresses.pop(source, None)  # one list of all nodes serves everywhere
    if not addresses:
        raise InputError("expected at least one node other than the source: --target name=address")
    check_names((source, *addresses))
    return addresses


def _allowed_method(method: ProbeMethod) -> ProbeMethod:
    from latency_map import LatencyMapError
    from latency_map.measure.probes import allowed_method

    try:
        return allowed_method(method, say=stderr_console.print)
    except LatencyMapError as error:  # the question was right, this process may not ask it
        if isinstance(error.__context__, ModuleNotFoundError):
            raise error.__context__ from None
        complain(f"error: {error}")
        raise typer.Exit(FAILED) from None


def _row_tables(source: str, addresses: "Mapping[str, str]", summaries: "Mapping[str, PairSummary]") -> "list[Table]":
    columns = ("node", "address", "median", "p95", "jitter", "loss", "replies")
    figures = ("median_ms", "p95_ms", "jitter_ms", "loss_ratio", "replies")
    rows = [
        (node, addresses[node], *(getattr(summary, name) for name in figures)) for node, summary in summaries.items()
    ]
    tables = [table(f"from {source}, round trips in ms, loss as a share", columns, rows)]
    lost = [(node, _failures(summary)) for node, summary in summaries.items() if summary.loss_ratio]
    return [*tables, table("without reply", ("node", "probes"), lost)] if lost else tables


def _failures(summary: "PairSummary") -> str:
    counts = {"timeouts": summary.timeouts, "unreachable": summary.unreachable}
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    return f"{said}: {summary.reason}" if summary.reason else said


def _agent_urls(listed: str, name: str) -> list[str]:
    from gesscale.cli.latency_map.map_files import split_names
    from latency_map.measure.peers import agent_url, resolve_agents

    if bool(listed) == bool(name):
        raise InputError(f"expected one of --agents and --agents-dns, got {'both' if name else 'none'}")
    return resolve_agents(name) if name else [agent_url(place) for place in split_names(listed)]
