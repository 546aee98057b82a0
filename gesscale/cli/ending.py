"""How a command is ended from outside."""

import signal


def end_as_ctrl_c_does() -> None:
    """Take SIGTERM, and a terminal that is closed, for Ctrl-C: whoever has brought things up takes them down.

    A signal that is ignored, as under ``nohup``, stays ignored.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
