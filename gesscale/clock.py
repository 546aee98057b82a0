"""System clock, and the signals that stop a loop."""

import signal
import threading
import time
from collections.abc import Callable


def on_stop_signals(stop: Callable[[], object]) -> None:
    """Call a function on SIGTERM and on SIGINT.

    SIGINT stays ignored if it is: a shell starts background jobs of a script this way.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: stop())


class SystemClock:
    """The system clock; a stop request ends the current wait."""

    def __init__(self) -> None:
        self._stopping = threading.Event()

    def now_s(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def wait_until(self, at_s: float) -> bool:
        """Wait for an instant; return False when a stop is requested."""
        return not self._stopping.wait(max(0.0, at_s - self.now_s()))

    def stop(self) -> None:
        """Ask the loop to end after the current step."""
        self._stopping.set()

    def stop_on_signals(self) -> None:
        """Stop on SIGINT and SIGTERM."""
        on_stop_signals(self.stop)
