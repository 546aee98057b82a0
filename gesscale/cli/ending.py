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

from gesscale.cli.output import OUTPUT_KEY, Output, complain, complain_of
from gesscale.common.errors import Problem
from gesscale.errors import GesscaleError, InputError
from gesscale.extras import missing_package
from latency_map.errors import NoChoiceError

#: The exit status of a command that Ctrl-C ended before it was done.
INTERRUPTED = 130

_interrupts: list[int] = []


class RootGroup(TyperGroup):
    """The group of a whole command line: reports Ctrl-C and errors in the format that the command was asked for."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            complain("interrupted")
            raise typer.Exit(INTERRUPTED) from error
        except GesscaleError as error:
            raise typer.Exit(_end_at(error, as_json=ctx.meta.get(OUTPUT_KEY) is Output.JSON)) from error


def run(cli: typer.Typer) -> NoReturn:
    """Run a command line; errors raised on purpose end in one line on stderr and their exit code."""
    _note_ctrl_c()
    try:
        ended = cli(standalone_mode=False)
    except ClickException as error:
        _refuse_usage(error)
    except typer.Abort:
        sys.exit(1)
    except GesscaleError as error:
        sys.exit(_end_at(error))
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _forget_stdout()
        sys.exit(1)
    except OSError as error:
        source = error.filename or ("standard output" if error.errno == ENOSPC else "")
        complain_of(Problem("io-failed", {"source": source, "cause": error.strerror or str(error)}))
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


def _end_at(error: GesscaleError, *, as_json: bool = False) -> int:
    """Report an error on stderr and return its exit code."""
    complain_of(*error.problems, as_json=as_json)
    return 3 if isinstance(error, NoChoiceError) else 2 if isinstance(error, InputError) else 1


def _forget_stdout() -> None:
    """Write what is left for stdout nowhere; it would be tried again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end_at_unexpected(error: Exception) -> NoReturn:
    """Report a package that is not installed, or Ctrl-C; raise any other error again."""
    if _interrupts:
        complain("interrupted")
        sys.exit(INTERRUPTED)
    if isinstance(error, ModuleNotFoundError) and (missing := missing_package(error)) is not None:
        complain_of(missing)
        sys.exit(2)
    raise error


def _refuse_usage(error: ClickException) -> NoReturn:
    """Report in one line what is wrong with a command line; a group without a command has shown its help already."""
    if not isinstance(error, NoArgsIsHelpError):
        context: typer.Context | None = getattr(error, "ctx", None)
        cause = " ".join(error.format_message().split()).replace("Value error, ", "").rstrip(".")
        hint = "; --to names a file" if "'--output'" in cause else ""
        # click parses an option without its value before it makes a context
        command = context.command_path if context else "the command with"
        complain_of(Problem("usage-invalid", {"cause": cause + hint, "command": command}))
    sys.exit(error.exit_code)
