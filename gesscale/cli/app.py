"""The ``gesscale`` command: its groups, its exit codes, and the one place where errors become messages.

Exit codes: 0 done, a loop stopped by Ctrl-C or SIGTERM too; 1 it failed while running; 2 the input or the usage
is wrong; 3 not feasible (a limit was hit, a check found a fault); 130 interrupted before it was done.
"""

import os
import sys
from importlib.metadata import entry_points, version
from typing import Annotated

import typer
from rich.text import Text

from gesscale.cli import config, crd, explain, latency_map, model, page, policies, replay, rules
from gesscale.cli import run as run_commands
from gesscale.cli.output import stderr_console
from gesscale.errors import GesscaleError, InputError

app = typer.Typer(
    name="gesscale",
    help="Network-latency-aware auto-scaler for Spark Structured Streaming on edge clusters.\n\n"
    "Exit codes: 0 done, 1 failed, 2 wrong input or usage, 3 not feasible or a check failed, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command()(run_commands.run)
app.command()(run_commands.once)
app.command()(run_commands.recommend)
app.command()(explain.explain)
app.command()(replay.replay)
app.command()(page.page)
app.add_typer(policies.app, name="policies")
app.add_typer(rules.app, name="rules")
app.add_typer(model.app, name="model")
app.add_typer(latency_map.app, name="latency-map")
app.add_typer(config.app, name="config")
app.add_typer(crd.app, name="crd")
for _command in entry_points(group="gesscale.commands"):
    app.add_typer(_command.load(), name=_command.name)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gesscale {version('gesscale')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of every command."""


def run(cli: typer.Typer) -> None:
    """Run a command line; errors raised on purpose end in one line on stderr and their exit code.

    Parameters
    ----------
    cli
        The command group to run.
    """
    try:
        cli()
    except InputError as error:
        stderr_console.print(Text.assemble(("error: ", "red"), str(error)))
        sys.exit(2)
    except GesscaleError as error:
        stderr_console.print(Text.assemble(("error: ", "red"), str(error)))
        sys.exit(1)
    except KeyboardInterrupt:
        stderr_console.print("interrupted")
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        stderr_console.print(Text.assemble(("error: ", "red"), f"{place}{error.strerror or error}"))
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nor is it tried again at exit
        sys.exit(1)


def main() -> None:
    """Run ``gesscale``."""
    run(app)
