"""Real time, and the signals that end a loop."""

import signal
import threading
import time
from collections.abc import Callable


def on_stop_signals(stop: Callable[[], object]) -> None:
    """Call a function on SIGTERM and on SIGINT.

    SIGINT stays ignored where it is ignored: a shell starts a script's background jobs so, and Ctrl-C is not for them.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: stop())


class SystemClock:
    """The machine's clock; a stop request ends the wait that is going on."""

    def __init__(self) -> None:
        self._stopping = threading.Event()

    def now_s(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def wait_until(self, at_s: float) -> bool:
        """Wait for an instant; False as soon as a stop was asked for."""
        return not self._stopping.wait(max(0.0, at_s - self.now_s()))

    def stop(self) -> None:
        """Ask the loop to end after the step that is going on."""
        self._stopping.set()

    def stop_on_signals(self) -> None:
        """Take SIGINT and SIGTERM as requests to stop."""
        on_stop_signals(self.stop)
