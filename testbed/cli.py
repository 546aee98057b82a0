"""The command line ``testbed``, also ``gesscale testbed``: the commands of the local cluster."""

import typer

from gesscale.cli.process_exit import RootGroup, run
from testbed.chaos.command import chaos
from testbed.cluster import cli as cluster
from testbed.demo.commands import workflow
from testbed.kubernetes import cli as kubernetes
from testbed.league.command import league
from testbed.nexmark.command import nexmark

app = typer.Typer(
    name="testbed",
    cls=RootGroup,
    help="Emulated edge nodes on this machine: network namespaces with a delay between every pair.\n\n"
    "Exit codes: 0 done, 1 failed, 2 wrong input or usage, 3 a check failed, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(cluster.app)
app.command(epilog="Example: testbed workflow --policy ds2")(workflow)
app.command(epilog="Example: testbed nexmark q5 --policy ds2")(nexmark)
app.command(epilog="Example: testbed league --results live --policies gesscale,ds2")(league)
app.command(epilog="Example: testbed chaos --results chaos --seed 1 --changes 20")(chaos)
app.add_typer(kubernetes.app)


def main() -> None:
    """Run ``testbed``."""
    run(app)
