"""``latency-map import``, ``measure``, ``agent``, ``gather``: their options."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.latency_map.arguments import (
    Kind,
    MapTarget,
    Unit,
)
from gesscale.cli.output import Output, OutputOption
from latency_map.kinds import MapForm
from latency_map.measure.method import ProbeMethod

AUTO = "auto"
FORMS = (AUTO, *(form.value for form in MapForm))
"""What ``import --format`` takes."""


def import_map(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to import; - for standard input.")],
    *,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORM",
            help=f"What the file is: {', '.join(FORMS)}. {AUTO} tells from how it begins, and says why.",
        ),
    ] = AUTO,
    unit: Unit = None,
    kind: Kind = None,
    names: Annotated[
        Path | None,
        typer.Option("--names", help="Names of nodes, one per line, for a matrix or list without names."),
    ] = None,
    servers: Annotated[
        Path | None, typer.Option("--servers", help="CSV with id and name, for pings between ids.")
    ] = None,
    probed_from: Annotated[
        str | None, typer.Option("--source", help="The node that ping or fping ran on.")
    ] = None,
    target: MapTarget = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Read a file of any form and write it as the project's own JSON."""
    from gesscale.cli.latency_map.importing import import_file

    import_file(
        file=file,
        form=form,
        unit=unit,
        kind=kind,
        names=names,
        servers=servers,
        probed_from=probed_from,
        target=target,
        output=output,
    )


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
    from gesscale.cli.latency_map.measuring import measure_row

    measure_row(
        source=source,
        target=target,
        targets=targets,
        count=count,
        rate=rate,
        timeout=timeout,
        method=method,
        port=port,
        map_target=map_target,
        output=output,
    )


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
    from gesscale.cli.latency_map.measuring import gather_rows

    gather_rows(
        agents=agents,
        agents_file=agents_file,
        agents_dns=agents_dns,
        fill=fill,
        timeout=timeout,
        map_target=map_target,
        output=output,
    )
