"""The ``gesscale`` command: its groups, its exit codes, and the one place where errors become messages.

Exit codes: 0 done, a loop stopped by Ctrl-C or SIGTERM too; 1 it failed while running; 2 the input or the usage
is wrong, or a package that the command needs is not installed; 3 not feasible (a limit was hit, a check found a
fault); 130 interrupted before it was done.
"""

import os
import sys
from errno import ENOSPC
from importlib.metadata import entry_points, version
from typing import Annotated, NoReturn

import typer
from typer._click.exceptions import ClickException, NoArgsIsHelpError  # typer brings its own click

from gesscale.cli.deferred import Deferred, deferred_group
from gesscale.cli.ending import INTERRUPTED, note_ctrl_c, was_interrupted
from gesscale.cli.output import complain, keep_quiet
from gesscale.errors import GesscaleError, InputError
from gesscale.extras import missing_package

COMMANDS = {
    "run": Deferred(
        target="gesscale.cli.run:run",
        help="Step at once and then once per period until Ctrl-C or SIGTERM; acts only where the mode is to act.",
        example="gesscale run -c gesscale.yaml --set monitor.period=30s",
    ),
    "once": Deferred(
        target="gesscale.cli.run:once",
        help="Run one step; acts only where execute.mode is act.",
        example="gesscale once -c gesscale.yaml -o json",
    ),
    "recommend": Deferred(
        target="gesscale.cli.run:recommend",
        help="Say what a step would do. Never acts.",
        example="gesscale recommend -c gesscale.yaml --policy ds2",
    ),
    "explain": Deferred(
        target="gesscale.cli.explain:explain",
        help="Say why it did, or did not, scale: the last decisions, their numbers, and the candidates that lost.",
        example="gesscale explain nearest -c gesscale.yaml -n 1",
    ),
    "replay": Deferred(
        target="gesscale.cli.replay:replay",
        help="Say what a policy would have decided at each instant of a recorded run, and why. Changes nothing.",
        example="gesscale replay reports/demo --policy ds2",
    ),
    "page": Deferred(
        target="gesscale.cli.page:page",
        help="Write a recorded run as one HTML file that a browser opens, with a slider over its time.",
        example="gesscale page reports/demo --to demo.html",
    ),
    "policies": Deferred(
        target="gesscale.cli.policies:app",
        help="The policies: which there are, and the settings of each.",
    ),
    "model": Deferred(
        target="gesscale.cli.model:app",
        help="Fit performance models to a CSV file of readings (replicas, nd_max_ms, mst_rows_per_s; optional "
        "batch_rows, tasks, weight) and predict with them.",
    ),
    "latency-map": Deferred(target="gesscale.cli.latency_map:app"),
    "config": Deferred(
        target="gesscale.cli.config:app", help="Check settings, and say what there is to set."
    ),
    "crd": Deferred(
        target="gesscale.cli.crd:app",
        help="The StreamAutoscaler resource of Kubernetes: its definition and its page.",
    ),
    # Packages add groups of commands as entry points; gesscale itself never imports them.
    **{entry.name: Deferred(target=entry.value) for entry in entry_points(group="gesscale.commands")},
}


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gesscale {version('gesscale')}")
        raise typer.Exit


def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Say warnings and errors only; results stay. Stands before the command."
        ),
    ] = False,
) -> None:
    """Options of every command."""
    keep_quiet(quiet)


app = deferred_group(
    "gesscale",
    "Network-latency-aware auto-scaler for Spark Structured Streaming on edge clusters.\n\n"
    "Exit codes: 0 done, 1 failed, 2 wrong input or usage, 3 not feasible or a check failed, 130 interrupted.",
    COMMANDS,
    callback=_options,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run(cli: typer.Typer) -> None:
    """Run a command line; errors raised on purpose end in one line on stderr and their exit code.

    Parameters
    ----------
    cli
        The command group to run.
    """
    note_ctrl_c()
    try:
        ended = cli(standalone_mode=False)
    except ClickException as error:
        _refuse_usage(error)
    except typer.Abort:
        sys.exit(1)
    except InputError as error:
        complain(f"error: {error}")
        sys.exit(2)
    except GesscaleError as error:
        complain(f"error: {error}")
        sys.exit(1)
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _end_at_os_error(error)
    except Exception as error:  # noqa: BLE001 - what is not known here is raised again
        _end_at_unexpected(error)
    sys.exit(ended if isinstance(ended, int) else 0)


def _end_at_os_error(error: OSError) -> NoReturn:
    place = f"{error.filename}: " if error.filename else "standard output: " if error.errno == ENOSPC else ""
    complain(f"error: {place}{error.strerror or error}")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nor is it tried again at exit
    sys.exit(1)


def _end_at_unexpected(error: Exception) -> NoReturn:
    """Say which package is not installed, or that Ctrl-C came; raise again what is anything else."""
    if was_interrupted():
        complain("interrupted")
        sys.exit(INTERRUPTED)
    if isinstance(error, ModuleNotFoundError) and (said := missing_package(error)) is not None:
        complain(f"error: {said}")
        sys.exit(2)
    raise error


def _refuse_usage(error: ClickException) -> NoReturn:
    """Say in one line what is wrong with a command line; a group without a command has shown its help already."""
    if not isinstance(error, NoArgsIsHelpError):
        context: typer.Context | None = getattr(error, "ctx", None)
        said = " ".join(error.format_message().split()).replace("Value error, ", "").rstrip(".")
        hint = "; a file is named by --to" if "'--output'" in said else ""
        # an option without its value is found out before there is a context
        complain(f"error: {said}{hint}; see {context.command_path if context else 'the command with'} --help")
    sys.exit(error.exit_code)


def main() -> None:
    """Run ``gesscale``."""
    run(app)
