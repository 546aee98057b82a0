"""When probes may start, so that they stay within a budget."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """A token bucket, kept as one instant (the generic cell rate algorithm).

    Over any span of t seconds at most ``rate_per_s * t + burst`` probes start.

    Attributes
    ----------
    rate_per_s
        Probes a second in the long run, above 0.
    burst
        How many may start at once after a pause, at least 1.
    due_s
        When the next one is due by the rate alone, on the clock of `start`.
    """

    rate_per_s: float
    burst: int = 1
    due_s: float = 0.0

    def start(self, now_s: float) -> tuple[float, "Pace"]:
        """Return when the next probe may start, and the pace after it.

        Parameters
        ----------
        now_s
            The time on a clock that never goes back.

        Returns
        -------
        tuple of float and Pace
            The instant, at least ``now_s``.
        """
        starts_s = max(now_s, self.due_s - (self.burst - 1) / self.rate_per_s)
        due_s = max(starts_s, self.due_s) + 1 / self.rate_per_s
        return starts_s, Pace(rate_per_s=self.rate_per_s, burst=self.burst, due_s=due_s)


class Pacer:
    """Waits until the next probe may start.

    Parameters
    ----------
    pace
        The budget.
    clock
        Seconds on a clock that never goes back.
    sleep
        Waits so many seconds; returns True where waiting has become pointless, as `threading.Event.wait` does
        once the event is set.
    """

    def __init__(self, pace: Pace, *, clock: Callable[[], float], sleep: Callable[[float], bool]) -> None:
        self._pace = pace
        self._clock = clock
        self._sleep = sleep

    def wait(self) -> float | None:
        """Wait for the next start.

        Returns
        -------
        float or None
            The time then; None where it is time to end instead.
        """
        now_s = self._clock()
        starts_s, self._pace = self._pace.start(now_s)
        if self._sleep(max(0.0, starts_s - now_s)):
            return None
        return self._clock()
