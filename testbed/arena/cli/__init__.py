"""``gesscale arena``: compares policies on simulated nodes, without a cluster."""

import typer

from testbed.arena.cli.results import compare, league, record, report
from testbed.arena.cli.run import list_, run
from testbed.simulator.validation.commands import refit, validate

app = typer.Typer(
    name="arena",
    help="Compare policies on simulated nodes: the same loads, many seeds, confidence intervals.",
    no_args_is_help=True,
)
app.command(
    epilog="Example: gesscale arena run --policies gesscale,hpa-cpu --workload mine.csv --seeds 10 --results mine"
)(run)
app.command(epilog="Example: gesscale arena compare mine --baseline hpa-cpu")(compare)
app.command(epilog="Example: gesscale arena league mine --price 10")(league)
app.command(epilog="Example: gesscale arena report mine --to mine.html")(report)
app.command(epilog="Example: gesscale arena record mine --policy gesscale --workload mine.csv --to mine-record")(record)
app.command("list", epilog="Example: gesscale arena list -o json")(list_)
app.command(epilog="Example: gesscale arena validate --run reports/demo")(validate)
app.command(epilog="Example: gesscale arena refit reports/demo --to mine.yaml --about 'my query on my nodes'")(refit)
