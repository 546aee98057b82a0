"""``latency-map import``, ``measure``, ``agent``, ``gather``, ``generate``: their options."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.latency_map.arguments import (
    Kind,
    MapTarget,
    Unit,
)
from gesscale.cli.output import Output, OutputOption
from latency_map.formats.forms import MapForm
from latency_map.generate.fibre import DETOUR_FACTOR
from latency_map.measure.method import ProbeMethod
from latency_map.names import MAX_NODES

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


generators = typer.Typer(
    help="Generate a map: a star, clusters, or from places on the globe. The same seed gives the same map.",
    no_args_is_help=True,
)

Nodes = Annotated[int, typer.Option("--nodes", min=1, max=MAX_NODES, help="How many nodes.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of everything that is drawn.")]
Triangles = Annotated[
    float | None,
    typer.Option(
        "--broken-triangles",
        help="Share of detours to be shorter than the direct way, as check counts them; 0 repairs them all,"
        " without it they stay as they come.",
    ),
]
Leaning = Annotated[
    float,
    typer.Option("--asymmetry", help="By how much of it each direction departs from a round trip at most."),
]
Gaps = Annotated[float, typer.Option("--missing", help="Share of the pairs that are unknown.")]
AccessSpan = Annotated[
    str, typer.Option("--access-ms", metavar="LOW,HIGH", help="Round trips from the nodes to the hub.")
]


@generators.command(
    "star", epilog="Example: gesscale latency-map generate star --nodes 8 --seed 1 --to map.json"
)
def generate_star(
    *,
    nodes: Nodes,
    access_ms: AccessSpan = "1,20",
    broken_triangles: Triangles = None,
    asymmetry: Leaning = 0.0,
    missing: Gaps = 0.0,
    seed: Seed = 0,
    target: MapTarget = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Generate a star: every node hangs on a hub; a pair's round trip is the sum of both to the hub."""
    from gesscale.cli.latency_map.generating import MapRequest, make_star

    make_star(
        nodes=nodes,
        access_ms=access_ms,
        request=MapRequest(
            broken_triangles=broken_triangles,
            asymmetry=asymmetry,
            missing=missing,
            seed=seed,
            target=target,
            output=output,
        ),
    )


@generators.command(
    "clustered", epilog="Example: gesscale latency-map generate clustered --nodes 12 --seed 1 --to map.json"
)
def generate_clustered(
    *,
    nodes: Nodes,
    clusters: Annotated[int, typer.Option("--clusters", min=1, help="How many clusters.")] = 4,
    within_ms: Annotated[
        str, typer.Option("--within-ms", metavar="LOW,HIGH", help="Round trips inside a cluster.")
    ] = "2,10",
    between_ms: Annotated[
        str, typer.Option("--between-ms", metavar="LOW,HIGH", help="Round trips between two clusters.")
    ] = "30,150",
    noise: Annotated[
        float, typer.Option("--noise", min=0, help="Standard deviation of a pair's log-normal factor.")
    ] = 0.1,
    broken_triangles: Triangles = None,
    asymmetry: Leaning = 0.0,
    missing: Gaps = 0.0,
    seed: Seed = 0,
    target: MapTarget = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Generate clusters of nodes: near to each other inside, far between; every pair differs a little."""
    from gesscale.cli.latency_map.generating import MapRequest, make_clustered

    make_clustered(
        nodes=nodes,
        clusters=clusters,
        within_ms=within_ms,
        between_ms=between_ms,
        noise=noise,
        request=MapRequest(
            broken_triangles=broken_triangles,
            asymmetry=asymmetry,
            missing=missing,
            seed=seed,
            target=target,
            output=output,
        ),
    )


@generators.command(
    "geographic",
    epilog="Example: gesscale latency-map generate geographic --nodes 20 --box 36,-10,60,30 --to map.json",
)
def generate_geographic(
    *,
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, max=MAX_NODES, help="How many nodes, in random places.")
    ] = None,
    coordinates: Annotated[
        Path | None,
        typer.Option("--coordinates", metavar="CSV", help="Nodes and places: name,latitude,longitude."),
    ] = None,
    box: Annotated[
        str,
        typer.Option("--box", metavar="S,W,N,E", help="Where random places are, in degrees; about Europe."),
    ] = "36,-10,60,30",
    factor: Annotated[
        float, typer.Option("--factor", help="How much longer than along the great circle light takes.")
    ] = DETOUR_FACTOR,
    access_ms: Annotated[
        str, typer.Option("--access-ms", metavar="LOW,HIGH", help="What each node adds to its round trips.")
    ] = "0.5,5",
    broken_triangles: Triangles = None,
    asymmetry: Leaning = 0.0,
    missing: Gaps = 0.0,
    seed: Seed = 0,
    target: MapTarget = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Generate from places: the great circle at the speed of light in fibre, times a factor, plus access."""
    from gesscale.cli.latency_map.generating import MapRequest, make_geographic

    make_geographic(
        nodes=nodes,
        coordinates=coordinates,
        box=box,
        factor=factor,
        access_ms=access_ms,
        request=MapRequest(
            broken_triangles=broken_triangles,
            asymmetry=asymmetry,
            missing=missing,
            seed=seed,
            target=target,
            output=output,
        ),
    )
