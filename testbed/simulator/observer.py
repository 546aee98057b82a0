"""Who looks on at a simulation."""

from typing import Protocol

from gesscale.model.decision import Decision
from testbed.scoring.sample import Completion, Sample


class Observer(Protocol):
    """Gets what happens; keeps what it needs."""

    def sampled(self, operator: str, sample: Sample) -> None:
        """Take an operator's sample."""
        ...

    def completed(self, completion: Completion) -> None:
        """Take rows that reached a sink."""
        ...

    def decided(self, decisions: tuple[Decision, ...]) -> None:
        """Take the decisions of a step."""
        ...
