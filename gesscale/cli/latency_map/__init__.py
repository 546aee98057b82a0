"""``gesscale latency-map``: import, measure, check, repair, show, choose nodes, plan delays."""

from typing import Annotated

import typer

from gesscale.cli.latency_map import check_repair, choose, import_map, measure, plan, show
from gesscale.cli.latency_map.options import max_nodes_option
from latency_map.names import MAX_NODES

app = typer.Typer(
    name="latency-map",
    help="Import, measure, check, repair and show latency maps, choose nodes by them, and emulate them. "
    "Unit and kind of delays are never guessed.",
    no_args_is_help=True,
)
for group in (import_map, measure, check_repair, show, choose, plan):
    app.add_typer(group.app)


@app.callback()
def _set_node_limit(
    context: typer.Context,
    max_nodes: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_NODES,
            help="Largest number of nodes of a map that is read, 1000 by default; memory grows with its square. Goes "
            "before the command.",
            show_default=False,
        ),
    ] = None,
) -> None:
    token = max_nodes_option.set(max_nodes)
    context.call_on_close(lambda: max_nodes_option.reset(token))
