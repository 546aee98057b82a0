"""A policy under the loop, over a plant: the ports, the clock, and who looks on."""

from typing import Protocol

from gesscale.decision import Decision
from gesscale.ports import Policy
from testbed.scoring.sample import Completion, Sample
from testbed.simulator.plant import Plant
from testbed.simulator.scene import Scene


class Observer(Protocol):
    """Told what happens; keeps what it likes."""

    def sampled(self, operator: str, sample: Sample) -> None:
        """Take an operator's sample."""
        ...

    def completed(self, completion: Completion) -> None:
        """Take rows that reached a sink."""
        ...

    def decided(self, decisions: tuple[Decision, ...]) -> None:
        """Take the decisions of a step."""
        ...


def simulate(scene: Scene, plant: Plant, policy: Policy, observer: Observer, *, seed: int) -> None:
    """Run a policy from the first row until all are processed.

    Parameters
    ----------
    scene
        What the plant was built from.
    plant
        At time 0.
    policy
        Under the loop of `gesscale.loop`, on simulated time.
    observer
        Told every sample, completion and decision, in the order of time.
    seed
        Of what Monitor misses (gaps, jitter).
    """
    raise NotImplementedError
