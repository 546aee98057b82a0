"""How a command line is run and how it ends: exit codes, signals, and errors that become messages.

Exit codes: 0 done, a loop stopped by Ctrl-C or SIGTERM too; 1 it failed while running; 2 the input or the usage
is wrong, or a package that the command needs is not installed; 3 not feasible (a limit was hit, a check found a
fault); 130 interrupted before it was done.
"""

import os
import signal
import sys
from errno import ENOSPC
from types import FrameType
from typing import Any, NoReturn

import typer
from typer._click.exceptions import ClickException, NoArgsIsHelpError  # typer brings its own click
from typer.core import TyperGroup

from gesscale.cli.output import complain
from gesscale.errors import GesscaleError, InputError
from gesscale.extras import missing_package
from latency_map.errors import NoChoiceError

#: The exit status of a command that Ctrl-C ended before it was done.
INTERRUPTED = 130

_interrupts: list[int] = []


class RootGroup(TyperGroup):
    """The group of a whole command line: it says that Ctrl-C came, which typer leaves to an exit status."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            complain("interrupted")
            raise typer.Exit(INTERRUPTED) from error


def run(cli: typer.Typer) -> NoReturn:
    """Run a command line; errors raised on purpose end in one line on stderr and their exit code."""
    _note_ctrl_c()
    try:
        ended = cli(standalone_mode=False)
    except ClickException as error:
        _refuse_usage(error)
    except typer.Abort:
        sys.exit(1)
    except NoChoiceError as error:
        complain(f"not feasible: {error}")
        sys.exit(3)
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
        _forget_stdout()
        sys.exit(1)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else "standard output: " if error.errno == ENOSPC else ""
        complain(f"error: {place}{error.strerror or error}")
        _forget_stdout()
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - what is not known here is raised again
        _end_at_unexpected(error)
    sys.exit(ended if isinstance(ended, int) else 0)


def end_as_ctrl_c_does() -> None:
    """Take SIGTERM, and a terminal that is closed, for Ctrl-C: whoever has brought things up takes them down.

    A signal that is ignored, as under ``nohup``, stays ignored.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def _note_ctrl_c() -> None:
    """Remember Ctrl-C: code in C, such as Matplotlib's, may raise an error of its own in place of KeyboardInterrupt."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    _interrupts.append(number)
    raise KeyboardInterrupt


def _forget_stdout() -> None:
    """Write what is left for stdout nowhere; it would be tried again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end_at_unexpected(error: Exception) -> NoReturn:
    """Say which package is not installed, or that Ctrl-C came; raise again what is anything else."""
    if _interrupts:
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
