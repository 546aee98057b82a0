"""How a command is ended from outside."""

import signal
from types import FrameType

INTERRUPTED = 130
"""The exit status of a command that Ctrl-C ended before it was done."""

_interrupts: list[int] = []


def end_as_ctrl_c_does() -> None:
    """Take SIGTERM, and a terminal that is closed, for Ctrl-C: whoever has brought things up takes them down.

    A signal that is ignored, as under ``nohup``, stays ignored.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def note_ctrl_c() -> None:
    """Remember Ctrl-C: code in C, such as Matplotlib's, may raise an error of its own in place of KeyboardInterrupt."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def was_interrupted() -> bool:
    """Tell whether Ctrl-C came since `note_ctrl_c`."""
    return bool(_interrupts)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    _interrupts.append(number)
    raise KeyboardInterrupt
