"""The ``gesscale`` command: its groups, and those of other packages."""

from importlib.metadata import EntryPoint, entry_points, version
from typing import Annotated

import typer

from gesscale.cli import config, doctor, explain, explain_error, latency_map, model, policies, replay, run, status
from gesscale.cli.output import set_quiet
from gesscale.cli.process_exit import RootGroup
from gesscale.cli.process_exit import run as run_command_line

app = typer.Typer(
    name="gesscale",
    cls=RootGroup,
    help="Network-latency-aware auto-scaler for Spark Structured Streaming on edge clusters.\n\n"
    "Exit codes: 0 done, 1 failed, 2 wrong input or usage, 3 not feasible or a check failed, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"gesscale {version('gesscale')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only results, warnings and errors. Goes before the command.")
    ] = False,
) -> None:
    """Options of every command."""
    set_quiet(quiet)


def _add_entry_point(entry: EntryPoint) -> None:
    """Add the commands of another package, in a group if it names one; a broken package does not affect the others."""
    try:
        app.add_typer(entry.load())
    except Exception as error:  # noqa: BLE001 - importing another package may raise anything
        from gesscale.formatting import describe_exception

        app.command(entry.name, help=f"Cannot be imported: {describe_exception(error)}")(entry.load)


for group in (run, status, doctor, explain, explain_error, replay, policies, model):
    app.add_typer(group.app)
app.add_typer(latency_map.app)
app.add_typer(config.app)
app.add_typer(config.crd)
for each in entry_points(group="gesscale.commands"):
    _add_entry_point(each)


def main() -> None:
    """Run ``gesscale``."""
    run_command_line(app)
