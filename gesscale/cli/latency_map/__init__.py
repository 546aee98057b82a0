"""``gesscale latency-map``: import, check, repair, measure, look at a map, choose nodes by it, emulate it."""

from contextvars import ContextVar
from typing import Annotated

import typer

from gesscale.cli.deferred import Deferred, deferred_group

MAKE, JUDGE, USE = "Make a map", "Judge it", "Decide and emulate by it"
"""The panels that the commands are listed in."""

COMMANDS = {
    "import": Deferred(
        target="gesscale.cli.latency_map.make:import_map",
        help="Read a file of any form and write it as the project's own JSON.",
        example="gesscale latency-map import delays.csv --unit ms --kind rtt --to map.json",
        panel=MAKE,
    ),
    "measure": Deferred(
        target="gesscale.cli.latency_map.make:measure",
        help="Measure one row of a map: round trips from this machine to others. Exit code 1: no node answered.",
        example="gesscale latency-map measure --source edge1 --target edge2=10.0.0.2 --to row.json",
        panel=MAKE,
    ),
    "agent": Deferred(
        target="gesscale.cli.latency_map.make:agent",
        help="Probe other nodes round after round and serve the figures to Prometheus; --help lists the options.",
        example="gesscale latency-map agent --node edge1 --peers edge2=10.0.0.2,edge3=10.0.0.3",
        panel=MAKE,
        settings={
            "add_help_option": False,
            "context_settings": {"allow_extra_args": True, "ignore_unknown_options": True},
        },
    ),
    "gather": Deferred(
        target="gesscale.cli.latency_map.make:gather",
        help="Make a map of what agents measured. Agents that do not answer are listed.",
        example="gesscale latency-map gather --agents 10.0.0.1:9109,10.0.0.2:9109 --fill --to map.json",
        panel=MAKE,
    ),
    "check": Deferred(
        target="gesscale.cli.latency_map.judge:check_map",
        help="Say what is wrong with a map and what to do; exit code 3 where it cannot be decided by as it is.",
        example="gesscale latency-map check map.json",
        panel=JUDGE,
    ),
    "repair": Deferred(
        target="gesscale.cli.latency_map.judge:repair_map",
        help="Repair a map and say what was changed: the steps are taken in the order of the options here.",
        example="gesscale latency-map repair map.json --symmetrise max --fill coordinates --to repaired.json",
        panel=JUDGE,
    ),
    "show": Deferred(
        target="gesscale.cli.latency_map.judge:show",
        help="Show a map, sound or not: figures, clusters, round trips in milliseconds, pictures.",
        example="gesscale latency-map show map.json --picture map.png",
        panel=JUDGE,
    ),
    "diff": Deferred(
        target="gesscale.cli.latency_map.judge:diff",
        help="Say what B says otherwise than A; exit code 0 where they are equal within the tolerance, 3 if not.",
        example="gesscale latency-map diff old.json new.json --tolerance-ms 1",
        panel=JUDGE,
    ),
    "choose": Deferred(
        target="gesscale.cli.latency_map.use:choose",
        help="Choose the nodes with the least NDmax; exit code 3 where no such set is possible.",
        example="gesscale latency-map choose map.json --size 4",
        panel=USE,
    ),
    "nearest": Deferred(
        target="gesscale.cli.latency_map.use:nearest",
        help="Rank the nodes to add: least largest round trip to a member, then least mean, then name.",
        example="gesscale latency-map nearest map.json --members edge1,edge2",
        panel=USE,
    ),
    "farthest": Deferred(
        target="gesscale.cli.latency_map.use:rank_farthest",
        help="Rank the nodes to remove: greatest largest round trip to another member, then mean, then name.",
        example="gesscale latency-map farthest map.json --members edge1,edge2,edge3",
        panel=USE,
    ),
    "plan": Deferred(
        target="gesscale.cli.latency_map.use:plan",
        help="Write the tc commands with which each node delays its packets to every other as the map says.",
        example="gesscale latency-map plan map.json --addresses hosts.csv --directory scripts",
        panel=USE,
    ),
}

max_nodes_asked: ContextVar[int | None] = ContextVar("max_nodes_asked", default=None)
"""Most nodes of a map that is read, as the user asked; None where not."""


def _bound_maps(
    context: typer.Context,
    max_nodes: Annotated[
        int | None,
        typer.Option(
            "--max-nodes",
            min=1,
            help="Most nodes of a map that is read, up to 5000; memory grows with their square. Stands before the "
            "command.",
            show_default="1000",
        ),
    ] = None,
) -> None:
    token = max_nodes_asked.set(max_nodes)
    context.call_on_close(lambda: max_nodes_asked.reset(token))


app = deferred_group(
    "latency-map",
    "Latency maps: import, check, repair, measure, look at them, choose nodes by them, emulate them. "
    "Unit and kind of delays are never guessed.",
    COMMANDS,
    callback=_bound_maps,
)
