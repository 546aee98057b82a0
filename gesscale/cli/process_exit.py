"""Runs a command line: exit codes, signals, and error messages.

Exit codes: 0 done, also a loop that Ctrl-C or SIGTERM stopped; 1 failed while running; 2 wrong input or usage, or a
missing package; 3 not feasible, or a check failed; 130 interrupted before it was done.
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

from gesscale.cli.output import OUTPUT_KEY, Output, report_line, report_problems
from gesscale.common.errors import Problem
from gesscale.errors import GesscaleError, InputError
from gesscale.extras import missing_package
from latency_map.errors import NoChoiceError

#: Exit status of a command that Ctrl-C interrupted.
INTERRUPTED = 130

_interrupts: list[int] = []


class RootGroup(TyperGroup):
    """The group of a whole command line: reports Ctrl-C and errors in the output format of the command."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        _simplify_help(self)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            report_line("interrupted")
            raise typer.Exit(INTERRUPTED) from error
        except GesscaleError as error:
            raise typer.Exit(_end_at(error, as_json=ctx.meta.get(OUTPUT_KEY) is Output.JSON)) from error
        except ModuleNotFoundError as error:
            if (missing := missing_package(error)) is None:
                raise
            as_json = ctx.meta.get(OUTPUT_KEY) is Output.JSON
            raise typer.Exit(_end_at(InputError([missing]), as_json=as_json)) from error


def _simplify_help(command: Any) -> None:
    """Show no type for flags in the help of a command and of those below it, and no cut sentence."""
    command.get_short_help_str = lambda _limit=0: _first_sentence(command)
    get_params = command.get_params

    def params_without_flag_types(context: Any) -> Any:
        params = get_params(context)
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params

    command.get_params = params_without_flag_types
    for each in getattr(command, "commands", {}).values():
        _simplify_help(each)


def _first_sentence(command: Any) -> str:
    text = " ".join((command.short_help or command.help or "").split())
    return text.partition(". ")[0].removesuffix(".") + "." if text else ""


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
        report_line("interrupted")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _forget_stdout()
        sys.exit(1)
    except OSError as error:
        source = error.filename or ("standard output" if error.errno == ENOSPC else "")
        report_problems(Problem("io-failed", {"source": source, "cause": error.strerror or str(error)}))
        _forget_stdout()
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - unknown errors are raised again
        _end_at_unexpected(error)
    sys.exit(ended if isinstance(ended, int) else 0)


def end_as_ctrl_c_does() -> None:
    """Handle SIGTERM and SIGHUP like Ctrl-C, so that a command removes what it has started.

    A signal that is ignored, as under ``nohup``, stays ignored.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def _note_ctrl_c() -> None:
    """Record Ctrl-C: C code, such as Matplotlib's, may raise another error instead of KeyboardInterrupt."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    _interrupts.append(number)
    raise KeyboardInterrupt


def _end_at(error: GesscaleError, *, as_json: bool = False) -> int:
    """Report an error on stderr and return its exit code."""
    report_problems(*error.problems, as_json=as_json)
    return 3 if isinstance(error, NoChoiceError) else 2 if isinstance(error, InputError) else 1


def _forget_stdout() -> None:
    """Discard the rest of stdout, which Python would otherwise flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end_at_unexpected(error: Exception) -> NoReturn:
    """Report a missing package or Ctrl-C; raise any other error again."""
    if _interrupts:
        report_line("interrupted")
        sys.exit(INTERRUPTED)
    if isinstance(error, ModuleNotFoundError) and (missing := missing_package(error)) is not None:
        report_problems(missing)
        sys.exit(2)
    raise error


def _refuse_usage(error: ClickException) -> NoReturn:
    """Report a wrong command line in one line; a group without a command has already printed its help."""
    if not isinstance(error, NoArgsIsHelpError):
        context: typer.Context | None = getattr(error, "ctx", None)
        cause = " ".join(error.format_message().split()).replace("Value error, ", "").rstrip(".")
        # click rejects an option without its value before it creates a context
        command = context.command_path if context else "gesscale"
        code = "output-format-invalid" if "'--output'" in cause else "usage-invalid"
        report_problems(Problem(code, {"cause": cause, "command": command}))
    sys.exit(error.exit_code)
