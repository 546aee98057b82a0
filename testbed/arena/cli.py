"""``gesscale arena``: policies against each other, without a cluster."""

import typer

app = typer.Typer(
    name="arena",
    help="Policies against each other on simulated nodes: the same loads, many seeds, intervals.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _options() -> None:
    """Options of every arena command."""
