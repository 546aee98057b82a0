"""How long to wait before asking again: longer after each fault, never in step with others."""

from collections.abc import Callable
from dataclasses import dataclass, field

MOST_DOUBLINGS = 32


@dataclass(slots=True, kw_only=True)
class Backoff:
    """Waits that double from the first to the longest, each drawn from its upper half.

    Attributes
    ----------
    random
        Draws from [0, 1).
    faults
        How many there were since the last success.
    """

    random: Callable[[], float]
    first_s: float = 0.5
    longest_s: float = 60.0
    faults: int = field(default=0, init=False)

    def after_fault_s(self, retry_after_s: float | None = None) -> float:
        """Return how long to wait after one more fault; at least as long as the server asks for.

        Examples
        --------
        >>> backoff = Backoff(random=lambda: 0.0, first_s=1.0, longest_s=5.0)
        >>> [backoff.after_fault_s() for _ in range(5)], backoff.after_fault_s(retry_after_s=7)
        ([0.5, 1.0, 2.0, 2.5, 2.5], 9.5)
        """
        whole_s = min(self.first_s * 2.0 ** min(self.faults, MOST_DOUBLINGS), self.longest_s)
        self.faults += 1
        drawn_s = whole_s * (0.5 + 0.5 * self.random())
        return drawn_s if retry_after_s is None else drawn_s + retry_after_s

    def succeeded(self) -> None:
        """Begin again."""
        self.faults = 0
